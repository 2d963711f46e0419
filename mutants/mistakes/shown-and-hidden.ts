// The style sheet shows what is not to be seen, or hides what is.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({
    ...{ rule, file: "server/pages/assets/style.css", before, after, tests: ["shown-and-hidden"], only },
  }));

export const SHOWN_AND_HIDDEN: readonly Mistake[] = slips(
  [
    "no form that is hidden",
    "what is hidden is hidden, however it is laid out",
    "display: none !important;",
    "display: none;",
  ],
  [
    "who listens",
    "what is only for who listens is not seen",
    "  position: absolute;\n  width: 1px;\n  height: 1px;\n",
    "",
  ],
  [
    "no problem where",
    "a problem that there is not takes no room",
    ".problem:empty,\n.hint:empty",
    ".hint:empty",
  ],
  [
    "no hint where",
    "a hint that there is not takes no room",
    ".problem:empty,\n.hint:empty",
    ".problem:empty",
  ],
  [
    "no beginning beside",
    "who opens a long text does not read its beginning twice",
    ".cut[open] > summary > bdi",
    ".cut[open] > summary > b",
  ],
  [
    "the beginning of a long",
    "the beginning of a long text is seen until it is opened",
    ".cut[open] > summary > bdi",
    ".cut > summary > bdi",
  ],
  ["no link past", "the link past the navigation stands in nobody's way", "left: -100vw;", "left: 0;"],
  ["once it is reached", "who reaches the link past the navigation sees it", "  position: static;\n", ""],
  [
    "on a phone the claim",
    "on a phone a claim that is open stands by itself",
    ".open :is(.queue, .filters) {",
    ".open :is(.queue) {",
  ],
  [
    "on a phone the list",
    "on a phone there is a list where no claim is open",
    ".open :is(.queue, .filters) {",
    ":is(.queue, .filters) {",
  ],
  [
    "on a phone the claim",
    "on a phone a way leads back from a claim",
    "  .open .back {\n    display: inline;",
    "  .open .back {\n    display: none;",
  ],
  [
    "at a desk the list",
    "at a desk the way back is the list beside the claim",
    ".back {\n  display: none;\n}",
    ".back {\n  display: inline;\n}",
  ],
  [
    "at 89",
    "a claim stands by itself up to the width at which there is room for both",
    "@media (max-width: 56rem)",
    "@media (max-width: 57rem)",
  ],
  [
    "at a desk the chain",
    "at a desk the chain is drawn once",
    ".drawing svg.narrow {\n  display: none;",
    ".drawing svg.narrow {\n  display: block;",
  ],
  [
    "on a phone the chain",
    "on a phone the chain is drawn from above",
    "  .drawing svg.narrow {\n    display: block;",
    "  .drawing svg.narrow {\n    display: none;",
  ],
  [
    "on a phone the chain",
    "on a phone the chain is drawn once",
    "  .drawing svg.wide {\n    display: none;\n  }\n",
    "",
  ],
  [
    "at 76",
    "the chain is drawn from left to right where there is room for that",
    "@media (max-width: 48rem)",
    "@media (max-width: 49rem)",
  ],
);
