// The two forms that decide, on one claim and on several: scripts hold the decisions before sending them.
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
  // Enter on a checkbox would press the first button of the form, which approves.
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

/** Puts what was undone back into the form for several, unless that has other content by now. */
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

/** The person and the organization of a claim: both are untrusted texts. */
function labelOf(id) {
  const whose = lineOf(id)?.querySelector(".whose") ?? document.getElementById("claim-title");
  return [...whose.querySelectorAll("bdi")].map(({ textContent }) => textContent);
}

/** Opens the next claim that can be decided and is not held. */
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

/** Marks the held claims, and offers no second decision on them. */
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

/** Shows the outcome of a claim in the list. */
export function mark(id, text) {
  const line = lineOf(id);
  if (!line) return;
  line.querySelector(".mark").textContent = text;
  line.removeAttribute("data-decidable");
  line.querySelector("[name=claim]")?.remove();
}
