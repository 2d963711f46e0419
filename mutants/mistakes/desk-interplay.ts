// What the scripts of the pages do while somebody writes, chooses or decides, and answers come when they come.
import type { Mistake } from "../mistake.ts";
import { inQueue } from "./desk-scripts.ts";

const WRITES = "whoever writes while another claim";
const CHOSEN = "claims that are chosen stay chosen";
const ASKS = `
  const { fresh } = await load(location.href);
  const now = fresh?.querySelector("#claim");
  // Another claim is shown by now, whether it was asked for since or was on its way already.
  if (`;
const HELD = "decision is held is told, and takes nothing";

export const INTERPLAY: readonly Mistake[] = [
  inQueue(
    "turning",
    WRITES,
    "what is typed into the search while a claim comes stays, with the focus",
    "  if (field && goOnWriting(field)) return;\n",
    "",
  ),
  inQueue(
    "turning",
    WRITES,
    "whoever writes about a claim is not taken away from it",
    '  if (isNew && field?.closest("#decision")) return;\n',
    "",
  ),
  inQueue(
    "turning",
    WRITES,
    "what was typed before a claim was asked for does not keep the focus from it",
    "now.field === before.field && now.text === before.text ? undefined : now.field",
    "now.field",
  ),
  inQueue(
    "turning",
    WRITES,
    "whoever goes on writing does so where they were in the text",
    "  field.setSelectionRange?.(selectionStart, selectionEnd);\n",
    "",
  ),
  inQueue(
    "turning",
    CHOSEN,
    "a claim that was chosen is chosen still beside the next",
    "box.checked = chosen.includes(box.value);",
    "box.checked = false;",
  ),
  inQueue(
    "turning",
    CHOSEN,
    "the form for several stays open from one claim to the next",
    "details.open = isOpen;",
    "details.open = false;",
  ),
  inQueue(
    "turning",
    "left in the meantime does not come back",
    "what was turned to meanwhile is not taken back by an older claim",
    "  if (queue() !== before || !now || !isOwn(fresh)) return;",
    "  if (!now || !isOwn(fresh)) return;",
  ),
  inQueue(
    "turning",
    "asked for anew while another was on its way",
    "an older claim does not take the place of what was on its way before it",
    `  const before = queue();${ASKS}queue() !== before`,
    `  const before = latest;${ASKS}latest !== before`,
  ),
  inQueue(
    "turning",
    "begins to write while a claim is asked for anew",
    "whoever writes about a claim that still waits keeps it",
    '  if (writing().field?.closest("#decision") && now.querySelector("#decision")) return;\n',
    "",
  ),
  inQueue("live", HELD, "a claim whose decision is held is not shown anew", " || isHeld(open)", ""),
  inQueue(
    "kept",
    "what is decided anew while",
    "what was decided anew meanwhile is not lost",
    "one.id === id && one.at === at",
    "one.id === id",
  ),
  inQueue(
    "hold",
    "takes the focus from nobody",
    "a decision that is made takes no focus from elsewhere",
    "  if (!hadFocus) return;\n",
    "",
  ),
  inQueue(
    "keys",
    "keys ask once",
    "whoever chooses from a list presses no keys of the queue",
    ", textarea, select, ",
    ", textarea, ",
  ),
  inQueue(
    "deciding",
    "keys ask once",
    "blanks are no reason to reject",
    'action === "reject" && notes.value.trim() === ""',
    'action === "reject" && notes.value === ""',
  ),
  {
    rule: "several values of the API reference are sent as several",
    file: "server/pages/assets/docs.js",
    before: 'value.split(",").map((each) => each.trim())',
    after: "[value]",
    tests: ["docs-page"],
    only: "what is a list is sent",
  },
  {
    rule: "what is left empty in the API reference is not sent",
    file: "server/pages/assets/docs.js",
    before: '    if (value === "") continue;\n',
    after: "",
    tests: ["docs-page"],
    only: "what is a list is sent",
  },
];
