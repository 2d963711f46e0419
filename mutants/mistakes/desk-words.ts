// What the desk gives back of what was written there, and what it says of a decision that comes twice.
import type { Mistake } from "../mistake.ts";

type Slip = [rule: string, before: string, after: string, only: string];
const slips = (file: string, tests: string, ...all: Slip[]): Mistake[] =>
  all.map(([rule, before, after, only]) => ({ rule, file, before, after, tests: [tests], only }));

export const DESK_WORDS: readonly Mistake[] = [
  ...slips(
    "server/pages/written.ts",
    "pages",
    [
      "what was written is given back, of however many words it is",
      'text.trim() !== ""',
      "/\\s/.test(text.trim())",
      "whose session is over keeps",
    ],
    ["what was left empty is not given back", ' && text.trim() !== ""', "", "of each form all is given back"],
    [
      "another site's form brings no words to a page",
      '  if (!isFromOwnPage(request)) return "";\n',
      "",
      "another site's form brings nothing",
    ],
    ["a note is given back", '"notes", "reason"', '"reason"', "of each form all is given back"],
    ["a reason that was chosen is given back", '"notes", "reason"', '"notes"', "whose session is over keeps"],
    ["a query is given back", '"query", "email"', '"email"', "of each form all is given back"],
    ["an address is given back", '"query", "email"', '"query"', "of each form all is given back"],
    ["what somebody does is given back", ', "duty"', "", "of each form all is given back"],
    ["a website is given back", '"website", ', "", "of each form all is given back"],
    [
      "a hidden field is nobody's words",
      '"query", "email"',
      '"query", "email", "claim"',
      "of each form all is",
    ],
    [
      "what was there before is nobody's words",
      "text !== fields(before(name))[0] && ",
      "",
      "of each form all is given back",
    ],
  ),
  {
    rule: "whoever is refused is given back what they wrote",
    file: "server/pages/refusal.ts",
    before: " ${written(request)}",
    after: "",
    tests: ["pages"],
    only: "signed in anew",
  },
];
