// Shows what other reviewers decide meanwhile: follows GET /v0/admin/claims/changes from now on.
import { mark } from "./deciding.js";
import { isHeld, say } from "./hold.js";
import { refreshClaim } from "./turning.js";

const EVERY_MS = 3_000;
let after = "now";

export function lookForChanges() {
  void look();
}

async function look() {
  const goesOn = document.hidden || (await read());
  if (goesOn) setTimeout(() => void look(), EVERY_MS);
}

/** False when there is no point in going on: signed out, or not a reviewer. */
async function read() {
  try {
    const response = await fetch(`/v0/admin/claims/changes?${new URLSearchParams({ after })}`);
    // The cursor is too old, as after a night's sleep.
    if (response.status === 410) after = "now";
    if (response.ok) {
      const { changes, next } = await response.json();
      after = next;
      await show(changes);
    }
    if (response.status === 401) say("You are not signed in any more. Load the page again to go on.");
    return ![401, 403].includes(response.status);
  } catch {
    return true;
  }
}

async function show(changes) {
  const latest = new Map(changes.map((change) => [change.id, change]));
  for (const [id, { toStatus, item }] of latest)
    if (toStatus !== "pending" && item)
      mark(id, item.reviewed_by ? `${toStatus} by ${item.reviewed_by}` : toStatus);
  const { open } = document.getElementById("queue").dataset;
  const change = latest.get(open);
  // Do not replace notes that are being written just because the address was proven meanwhile.
  const isWriting = document.activeElement?.closest("#decision") && change?.toStatus === "pending";
  if (!change || isWriting || isHeld(open)) return;
  await refreshClaim();
  const outcome = document.querySelector("#claim .outcome p");
  if (outcome) say(outcome.textContent.replaceAll(/\s+/g, " ").trim());
}
