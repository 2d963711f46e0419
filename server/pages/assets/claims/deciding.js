// The two forms that decide, for one claim and for several: with script they hold what they would send.
import { forgetDraft, keepDraft } from "./drafts.js";
import { hold, isHeld, say, tellOfLost } from "./hold.js";
import { lookForLost } from "./kept.js";
import { turnTo, whenShown } from "./turning.js";

const lines = () => [...document.querySelectorAll("#several li[data-claim]")];
const lineOf = (id) => lines().find((line) => line.dataset.claim === id);

export function startDeciding() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("#decision, #several")) return;
    event.preventDefault();
    const ids = new FormData(form).getAll("claim").filter((id) => !isHeld(id));
    decide(form, ids, event.submitter?.value ?? "approve");
  });
  // On a box it would press the first button of the form, which approves.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("#several [type=checkbox]")) event.preventDefault();
  });
  whenShown(markHeld);
  document.addEventListener("claims:held", markHeld);
  lookForLost(tellOfLost);
  addEventListener("pageshow", ({ persisted }) => persisted && lookForLost(tellOfLost));
}

function decide(form, ids, action) {
  const { notes, role } = form.elements;
  const problem = form.querySelector(".problem");
  const isAlone = form.id === "decision";
  problem.textContent = "";
  if (ids.length === 0) {
    problem.textContent = isAlone ? "This claim is being decided." : "Choose claims in the list.";
    return;
  }
  if (action === "reject" && notes.value.trim() === "") {
    problem.textContent = "Say why: the person will be told.";
    notes.focus();
    return;
  }
  const decisions = ids.map((id) => ({
    id,
    label: labelOf(id),
    action,
    role: role.value,
    notes: notes.value.trim(),
  }));
  hold(decisions, settled, isAlone ? () => {} : () => chooseAgain(ids, decisions[0].notes));
  if (isAlone) goOn(ids[0]);
  else {
    for (const box of form.querySelectorAll("[name=claim]:checked")) box.checked = false;
    notes.value = "";
    forgetDraft("several");
  }
}

function settled({ id, notes }, status) {
  if (status === undefined) keepDraft(id, notes);
  else {
    forgetDraft(id);
    mark(id, status);
  }
}

/** What was undone stands in the form for several again, unless that has something else in it by now. */
function chooseAgain(ids, notes) {
  const field = document.querySelector("#several [name=notes]");
  if (!field || field.value !== "" || document.querySelector("#several [name=claim]:checked")) return;
  for (const id of ids) {
    const box = lineOf(id)?.querySelector("[name=claim]");
    if (box) box.checked = true;
  }
  field.value = notes;
  keepDraft("several", notes);
}

/** Whose claim it is and to what: two texts of strangers. */
function labelOf(id) {
  const whose = lineOf(id)?.querySelector(".whose") ?? document.getElementById("claim-title");
  return [...whose.querySelectorAll("bdi")].map(({ textContent }) => textContent);
}

/** To the next claim that nobody is deciding. */
function goOn(from) {
  const all = lines();
  const place = all.findIndex((line) => line.dataset.claim === from);
  const isFree = (line) => line.hasAttribute("data-decidable") && !isHeld(line.dataset.claim);
  const next = all.slice(place + 1).find(isFree) ?? undefined;
  const following = document.querySelector("#claim a[rel=next]");
  const earlier = all.slice(0, Math.max(place, 0)).find(isFree);
  const link =
    next?.querySelector("a") ??
    (place === all.length - 1 || place === -1 ? following : null) ??
    earlier?.querySelector("a");
  if (link) void turnTo(link.href);
  else {
    void turnTo(document.querySelector("#claim a.back").href);
    say("No other claim waits here.");
  }
}

/** Shows of what is held that it is, and offers no second decision. */
function markHeld() {
  for (const line of lines()) {
    const held = isHeld(line.dataset.claim);
    line.classList.toggle("held", held);
    if (held) line.querySelector(".mark").textContent = "being decided";
    else if (line.querySelector(".mark").textContent === "being decided")
      line.querySelector(".mark").textContent = "";
  }
  const form = document.getElementById("decision");
  const open = document.getElementById("queue").dataset.open;
  for (const button of form?.querySelectorAll("button") ?? []) button.disabled = isHeld(open);
}

/** Shows in the list what has become of a claim. */
export function mark(id, text) {
  const line = lineOf(id);
  if (!line) return;
  line.querySelector(".mark").textContent = text;
  line.removeAttribute("data-decidable");
  line.querySelector("[name=claim]")?.remove();
}
