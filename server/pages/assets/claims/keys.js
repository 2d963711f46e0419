// What single keys do, unless the visitor is typing or has switched them off.
import { undoLatest } from "./hold.js";
import { turnTo } from "./turning.js";

const SETTING = "keys of the queue";
const find = (selector) => document.querySelector(selector);

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  a: () => find("#decision [value=approve]")?.click(),
  r: () => {
    const notes = find("#decision [name=notes]");
    if (notes?.value.trim() === "") notes.focus();
    else find("#decision [value=reject]")?.click();
  },
  u: () => undoLatest(),
  x: () => find(`#several [name=claim][value="${find("#queue").dataset.open}"]`)?.click(),
  "/": () => find("#search").focus(),
};

export function startKeys() {
  const use = find("#use-keys");
  find("#keys").hidden = false;
  use.checked = localStorage.getItem(SETTING) !== "off";
  use.addEventListener("change", () => localStorage.setItem(SETTING, use.checked ? "on" : "off"));
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (isTyping || !use.checked || event.ctrlKey || event.metaKey || event.altKey || event.isComposing)
      return;
    if (!Object.hasOwn(KEYS, event.key)) return;
    // A key that is held down would load a page thirty times a second.
    if (event.repeat) return;
    event.preventDefault();
    KEYS[event.key]();
  });
}

/** Opens the claim after or before the open one, on another page of the list if need be. */
function step(by) {
  const links = [...document.querySelectorAll("#several li > a")];
  const open = links.findIndex((link) => link.hasAttribute("aria-current"));
  const link = open === -1 ? links.at(by > 0 ? 0 : -1) : find(`#claim a[rel=${by > 0 ? "next" : "prev"}]`);
  if (link) void turnTo(link.href);
}
