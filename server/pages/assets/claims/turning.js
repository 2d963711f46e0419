// Goes from one claim to another within the page, so that decisions that can still be undone are kept.

import { complain } from "./hold.js";

const queue = () => document.getElementById("queue");
const PATH = /^\/admin\/claims(\/|$)/;
const here = () => location.pathname + location.search;
let latest = 0;
let shown = here();

/** Calls back now, and whenever the queue, or the claim alone, has been replaced. */
export function whenShown(callback) {
  callback();
  document.addEventListener("claims:shown", callback);
}

export function startTurning() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("#queue a[href]");
    const isPlain =
      event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || link.target || !isQueue(link.href) || link.getAttribute("href").startsWith("#"))
      return;
    event.preventDefault();
    void turnTo(link.href);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("#queue form.filters")) return;
    event.preventDefault();
    const said = [...new FormData(event.target)].filter(([, value]) => value !== "");
    void turnTo(`${event.target.action}?${new URLSearchParams(said)}`);
  });
  // This event is fired for fragments too.
  addEventListener("popstate", () => {
    if (here() !== shown) void turnTo(location.href, { isNew: false });
  });
}

function isQueue(href) {
  const { origin, pathname } = new URL(href, location.href);
  return origin === location.origin && PATH.test(pathname);
}

/**
 * Shows another page of the queue.
 * @param isNew whether it gets an entry in the browser's history
 */
export async function turnTo(href, { isNew = true } = {}) {
  const turn = ++latest;
  const before = writing();
  const { fresh, title, isBusy } = await load(href);
  if (turn !== latest) return;
  if (isBusy) {
    // Leaving the page would send the held decisions.
    complain("The service did not answer, or has answered too often; try again.");
    return;
  }
  // Signed out, refused, not found, or another visitor's: let the browser show it.
  if (!isOwn(fresh)) {
    location.assign(href);
    return;
  }
  // Do not interrupt a visitor who has begun to write: their next letter would be taken for a command.
  const now = writing();
  const field = now.field === before.field && now.text === before.text ? undefined : now.field;
  if (isNew && field?.closest("#decision")) return;
  if (isNew) history.pushState(null, "", href);
  shown = here();
  document.title = title;
  keepChosen(fresh);
  queue().replaceWith(fresh);
  document.dispatchEvent(new Event("claims:shown"));
  if (field && goOnWriting(field)) return;
  const heading = document.getElementById(queue().dataset.open === "" ? "list-title" : "claim-title");
  heading?.focus({ preventScroll: true });
  (queue().dataset.open === "" ? queue() : heading)?.scrollIntoView?.({ block: "nearest" });
}

/** The field that has the focus, and its text so far. */
function writing() {
  const field = document.activeElement;
  const isField = field?.matches("#queue :is(input:not([type=checkbox]), select, textarea)");
  return isField ? { field, text: field.value } : {};
}

/** Moves text and focus to the field of the same name in the new queue; false if there is none. */
function goOnWriting({ form, name, value, selectionStart, selectionEnd }) {
  const forms = form.id === "several" ? "#several" : "form.filters";
  const field = form.id === "decision" ? null : queue().querySelector(`${forms} [name="${name}"]`);
  if (!field) return false;
  field.value = value;
  field.focus();
  field.setSelectionRange?.(selectionStart, selectionEnd);
  return true;
}

/** Keeps the chosen claims, which reviewers choose one by one while opening others in between. */
function keepChosen(fresh) {
  const chosen = [...queue().querySelectorAll("#several [name=claim]:checked")].map(({ value }) => value);
  for (const box of fresh.querySelectorAll("#several [name=claim]")) box.checked = chosen.includes(box.value);
  const isOpen = queue().querySelector("details.several")?.open ?? false;
  for (const details of fresh.querySelectorAll("details.several")) details.open = isOpen;
}

/** Reloads the open claim, and leaves the list as it is. */
export async function refreshClaim() {
  const before = queue();
  const { fresh } = await load(location.href);
  const now = fresh?.querySelector("#claim");
  // Another claim is shown by now, whether it was asked for since or was on its way already.
  if (queue() !== before || !now || !isOwn(fresh)) return;
  // Do not replace notes that the visitor has begun to write on a claim that still waits.
  if (writing().field?.closest("#decision") && now.querySelector("#decision")) return;
  document.getElementById("claim").replaceWith(now);
  document.dispatchEvent(new Event("claims:shown"));
}

/** Whether it was made for the visitor of this page. */
function isOwn(fresh) {
  return fresh?.dataset.visitor === queue().dataset.visitor;
}

async function load(href) {
  try {
    const response = await fetch(href);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const isBusy = response.status === 429 || response.status >= 500;
    return { fresh: page.getElementById("queue"), title: page.title, isBusy };
  } catch {
    return { fresh: null, isBusy: true };
  }
}
