// Decisions that can still be undone. Each is sent when its ten seconds are over, or when the page is left;
// until then nothing has happened.
import { element } from "./element.js";
import { forget, keep } from "./kept.js";

const HOLD_MS = 10_000;

/** By the claim's id. */
const held = new Map();
const groups = new Set();
const section = () => document.getElementById("held");

// A visitor who comes back finds them decided, with nothing left to undo.
addEventListener("pagehide", () => {
  for (const { timer, line } of groups) {
    clearTimeout(timer);
    line.remove();
  }
  groups.clear();
  for (const decision of held.values()) {
    // Its notes stay as a draft until it is known that it was made.
    decision.after(decision, undefined);
    void settle(decision, { isLeaving: true });
  }
});

export function isHeld(id) {
  return held.has(id);
}

/**
 * Holds decisions that are undone together.
 * @param decisions {id, label: [person, organization], action, role, notes}
 * @param after called for each with its new status, or undefined if it was not made
 * @param undone called when they are undone
 */
export function hold(decisions, after, undone) {
  const [first] = decisions;
  // If another person signs in meanwhile, the decision must not be made in their name.
  const by = document.getElementById("queue").dataset.visitor;
  const undo = element("button", { type: "button", class: "plain" }, "Undo");
  const verb = first.action === "approve" ? "Approving" : "Rejecting";
  const what =
    decisions.length === 1
      ? shown(first.label)
      : [
          `${decisions.length} claims: `,
          ...decisions.flatMap(({ label }, place) => [place > 0 ? ", " : "", ...shown(label)]),
        ];
  const line = element(
    "li",
    {},
    element("span", {}, `${verb} `, ...what, first.action === "approve" ? ` as ${first.role}` : ""),
    element("span", { class: "left", "aria-hidden": "true" }),
    undo,
  );
  const group = { line, decisions: decisions.map((decision) => ({ ...decision, after, by })) };
  for (const decision of group.decisions) {
    held.set(decision.id, decision);
    keep(decision);
  }
  group.timer = setTimeout(() => void settleGroup(group), HOLD_MS);
  group.undo = () => {
    // Too late: it is being sent already.
    if (!groups.delete(group)) return;
    clearTimeout(group.timer);
    for (const { id } of group.decisions) {
      held.delete(id);
      forget(id);
    }
    replace(line);
    undone();
    say(
      "Undone: ",
      ...(decisions.length === 1 ? shown(first.label) : [`${decisions.length} decisions`]),
      ".",
    );
    changed();
  };
  undo.addEventListener("click", group.undo);
  groups.add(group);
  section().querySelector("ul").append(line);
  changed();
}

/** Undoes the latest held decisions; false if there are none. */
export function undoLatest() {
  const latest = [...groups].at(-1);
  latest?.undo();
  return latest !== undefined;
}

async function settleGroup(group) {
  groups.delete(group);
  // Not `disabled`, which would take the focus from it.
  group.line.querySelector("button").setAttribute("aria-disabled", "true");
  const results = [];
  // Some may have been sent when the page was left.
  for (const decision of group.decisions) if (held.has(decision.id)) results.push(await settle(decision));
  replace(group.line, ...results);
  say(...results.flatMap((line) => [...line.firstChild.cloneNode(true).childNodes, " "]));
  changed();
}

async function settle(decision, { isLeaving = false } = {}) {
  const { id, label, action, role, notes, by, after } = decision;
  held.delete(id);
  const { answer, problem } = await send(
    { claimId: id, action, adminEmail: by, ...(notes && { notes }), ...(action === "approve" && { role }) },
    isLeaving,
  );
  // A failure on a page that is being left is kept for the next page to tell.
  if (problem === undefined || !isLeaving) forget(id);
  after(decision, answer?.newStatus);
  return closable(
    problem === undefined ? "" : "bad",
    ...shown(label),
    problem === undefined
      ? ` is ${answer.newStatus}. They get an e-mail.${answer.warnings.map(({ message }) => ` ${message}`).join("")}`
      : `: ${problem}`,
  );
}

/** Reports that a decision held by an earlier page was not made. */
export function tellOfLost({ id, label, action }) {
  const said = [...shown(label), ` still waits: your decision to ${action} it did not reach the service. `];
  say(...said.map((part) => part.cloneNode?.(true) ?? part));
  const link = element("a", { href: `/admin/claims/${id}` }, "Decide again");
  section()
    .querySelector("ul")
    .append(closable("bad", ...said, link));
  changed();
}

/** Reports a problem beside the held decisions. */
export function complain(text) {
  section().querySelector("ul").append(closable("bad", text));
  say(text);
  changed();
}

function closable(kind, ...parts) {
  const close = element("button", { type: "button", class: "plain" }, "Close");
  const line = element("li", { class: kind }, element("span", {}, ...parts), close);
  close.addEventListener("click", () => {
    replace(line);
    changed();
  });
  return line;
}

/** Sends a decision to REST, with the session's cookie; a claim whose decision does not arrive stays open. */
async function send(body, isLeaving) {
  try {
    const response = await fetch("/v0/admin/claims/review", {
      method: "POST",
      headers: { "content-type": "application/json", "x-session-request": "1" },
      body: JSON.stringify(body),
      keepalive: isLeaving,
    });
    const answer = await response.json();
    return response.ok ? { answer } : { problem: answer.message };
  } catch {
    return { problem: "The service did not answer; see whether this claim still waits, and try again." };
  }
}

/** Replaces a line. If it had the focus, that moves to a button of the new lines, or to the title. */
function replace(line, ...others) {
  const hadFocus = line.contains(document.activeElement);
  line.replaceWith(...others);
  if (!hadFocus) return;
  // On a phone the list is hidden while a claim is open.
  const title = document.getElementById("claim-title") ?? document.getElementById("list-title");
  (others[0]?.querySelector("button") ?? title).focus();
}

function changed() {
  section().hidden = section().querySelector("li") === null;
  document.dispatchEvent(new Event("claims:held"));
}

/** Untrusted texts, each isolated so that its writing direction affects nothing else. */
function shown([person, organization]) {
  return [element("bdi", {}, person), " → ", element("bdi", {}, organization)];
}

/** Announces it to screen readers. */
export function say(...parts) {
  document.getElementById("said").replaceChildren(...parts);
}
