// The keys of the queue. Without script there are none, so the list is hidden until assets/claims/keys.js shows it.
import { html } from "hono/html";

const KEYS = [
  ["j", "the next claim"],
  ["k", "the previous claim"],
  ["a", "approve with the role that is chosen"],
  ["r", "reject; without a reason, go to the field for it"],
  ["u", "undo the latest decision"],
  ["x", "choose the claim, to decide several at once"],
  ["/", "go to the search"],
] as const;

export const keys = html`<details id="keys" class="card keys" hidden>
  <summary>Keys</summary>
  <dl>
    ${KEYS.map(
      ([key, does]) =>
        html`<dt><kbd>${key}</kbd></dt>
          <dd>${does}</dd>`,
    )}
  </dl>
  <label class="check"><input id="use-keys" type="checkbox" checked /> Use these keys in this browser</label>
</details>`;
