// Keeps unfinished notes in this tab until their claim is decided.
import { whenShown } from "./turning.js";

const PREFIX = "notes of ";

/** Per visitor: the next person may use the same tab. */
const own = () => `${PREFIX}${document.getElementById("queue").dataset.visitor} about `;

export function keepDrafts() {
  for (const name of Object.keys(sessionStorage))
    if (name.startsWith(PREFIX) && !name.startsWith(own())) sessionStorage.removeItem(name);
  whenShown(() => {
    for (const field of document.querySelectorAll("textarea[data-draft]"))
      field.value = sessionStorage.getItem(own() + field.dataset.draft) ?? field.value;
  });
  document.addEventListener("input", ({ target }) => {
    const { draft } = target.dataset ?? {};
    if (draft === undefined) return;
    keepDraft(draft, target.value);
  });
  document.addEventListener("change", ({ target }) => {
    if (!target.matches("select[name=reason]") || target.value === "") return;
    const notes = target.form.elements.notes;
    notes.value = target.value;
    notes.dispatchEvent(new Event("input", { bubbles: true }));
    target.value = "";
    notes.focus();
  });
}

export function keepDraft(of, text) {
  if (text === "") forgetDraft(of);
  else sessionStorage.setItem(own() + of, text);
}

export function forgetDraft(of) {
  sessionStorage.removeItem(own() + of);
}
