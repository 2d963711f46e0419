// Decisions that are held, written down in this browser until the service has answered: when the page is closed, the network gone
// or the session over, whoever comes back is told of those that were not made. No names and no notes: others use the same browser.

const TAB = "tab of the queue";
const EVERY_MS = 3_000;
/** What another tab still holds after that, it holds no more. */
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
 * Looks for those that an earlier page left, which may be on their way still.
 * @param tell is told of each whose claim still waits, and whose that is
 */
export function lookForLost(tell) {
  const left = read().filter(({ tab, at }) => tab === ownTab() || Date.now() - at > LONGEST_MS);
  if (left.length > 0) setTimeout(() => void look(left, tell), EVERY_MS);
}

async function look(left, tell) {
  for (const { id, action, at } of left) {
    const page = await claimPage(id);
    // Unknown: the next page asks again. And it may have been decided or held anew in the meantime.
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
