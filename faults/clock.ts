// Preloaded into a process (`node --import clock.ts?file=…`): shifts its clock by the milliseconds that the
// file says, and follows changes of the file. Timers, which use a clock of their own, stay as they are.
import { readFileSync, watchFile } from "node:fs";

const file = new URL(import.meta.url).searchParams.get("file")!;
const LOOK_EVERY_MS = 100;
const TrueDate = Date;
let offset = 0;

function look(): void {
  offset = Number(readFileSync(file, "utf8"));
}

look();
watchFile(file, { interval: LOOK_EVERY_MS, persistent: false }, look);

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, values: unknown[], newTarget) =>
    Reflect.construct(target, values.length > 0 ? values : [target.now() + offset], newTarget) as Date,
  get: (target, name, receiver) =>
    name === "now" ? () => target.now() + offset : (Reflect.get(target, name, receiver) as unknown),
});
