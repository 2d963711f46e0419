// The queue with script: ten seconds in which a decision can be undone, keys, drafts, and what others decide meanwhile.
// Without it the same forms and links do the same, after a page that asks whether it is meant.
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
