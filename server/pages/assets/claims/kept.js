// Held decisions, stored in this browser until the service has answered: a visitor who comes back after the
// page was closed, the network lost or the session ended is told which were not made. No names, no notes:
// others may use the same browser.

const TAB = "tab of the queue";
const EVERY_MS = 3_000;
/** After this time, another tab no longer holds a decision. */
const LONGEST_MS = 60_000;

const key = () => `decisions of ${document.getElementById("queue").dataset.visitor}`;
const read = () => JSON.parse(localStorage.getItem(key()) ?? "[]");
const write = (kept) =>
  kept.length > 0 ? localStorage.setItem(key(), JSON.stringify(kept)) : localStorage.removeItem(key());

function ownTab() {
  const tab = sessionStorage.getItem(TAB) ?? String(Math.random());
  sessionStorage.setItem(TAB, tab);
  return tab;
}

export function keep({ id, action }) {
  write([...read().filter((one) => one.id !== id), { id, action, tab: ownTab(), at: Date.now() }]);
}

export function forget(id) {
  write(read().filter((one) => one.id !== id));
}

/**
 * Looks for decisions that an earlier page left; they may still be on their way.
 * @param tell called for each whose claim still waits, with the person and organization of the claim
 */
export function lookForLost(tell) {
  const left = read().filter(({ tab, at }) => tab === ownTab() || Date.now() - at > LONGEST_MS);
  if (left.length > 0) setTimeout(() => void look(left, tell), EVERY_MS);
}

async function look(left, tell) {
  for (const { id, action, at } of left) {
    const page = await claimPage(id);
    // Without an answer the next page asks again. And it may have been decided or held again meanwhile.
    if (!page || !read().some((one) => one.id === id && one.at === at)) continue;
    forget(id);
    const whose = [...page.querySelectorAll("#claim-title bdi")].map(({ textContent }) => textContent);
    if (page.getElementById("decision")) tell({ id, action, label: whose });
  }
}

async function claimPage(id) {
  try {
    const response = await fetch(`/admin/claims/${id}`);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return response.status === 404 || page.getElementById("claim") ? page : undefined;
  } catch {
    return undefined;
  }
}
