// The queue with scripts: ten seconds in which a decision can be undone, keys, drafts, and live updates.
// Without scripts the same forms and links work, with a page that asks for confirmation.
import { startDeciding } from "./claims/deciding.js";
import { keepDrafts } from "./claims/drafts.js";
import { startKeys } from "./claims/keys.js";
import { lookForChanges } from "./claims/live.js";
import { startTurning } from "./claims/turning.js";

startTurning();
startDeciding();
keepDrafts();
startKeys();
lookForChanges();
