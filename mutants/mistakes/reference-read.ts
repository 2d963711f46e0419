// The API reference says something else than the document that it is made of.
import type { Mistake } from "../mistake.ts";

type Slip = [rule: string, before: string, after: string];
const slips = (file: string, ...all: Slip[]): Mistake[] =>
  all.map(([rule, before, after]) => ({
    ...{
      rule,
      file: `server/pages/${file}`,
      before,
      after,
      tests: ["reference-as-read"],
      only: "the API reference",
    },
  }));

export const REFERENCE_READ: readonly Mistake[] = [
  ...slips(
    "docs/schema.ts",
    [
      "a bound that is none is not told",
      "Math.abs(bound) < Number.MAX_SAFE_INTEGER",
      "Math.abs(bound) <= Number.MAX_SAFE_INTEGER",
    ],
    [
      "the fewest and the most of a text are told in characters",
      'range(minLength, maxLength, " characters")',
      'range(minLength, maxLength, "")',
    ],
    ["of a list it is told how long it may be", '    range(minItems, maxItems, " items"),\n', ""],
    [
      "a value with two types has both",
      '.map((type) => (type === "array" ? "list" : type));',
      '.map((type) => (type === "array" ? "list" : type)).slice(0, 1);',
    ],
    ["of a list it is told of what", 'items ? html` of ${typeOf(items)}` : ""', '""'],
    [
      "what is either is told as both",
      'return joined(either.map(typeOf), " or ");',
      "return typeOf(either[0]!);",
    ],
    ["a shared object is linked by its name", 'href="#schema-${nameOf($ref)}"', 'href="#${nameOf($ref)}"'],
    ["the fields of what is in a list are told", "${fieldsOf(field)}", ""],
    ["at least is not at most", "`at most ${most}${unit}`", "`at least ${most}${unit}`"],
  ),
  ...slips(
    "docs/operation.ts",
    ["a form has the example of each parameter", 'value="${value}" spellcheck', 'value="" spellcheck'],
    [
      "of several examples each has its own text",
      'value="${text}">${label}',
      'value="${examples[0]!.text}">${label}',
    ],
    [
      "an answer is told with its type",
      '${Object.keys(content).join(", ")}: ${typeOf(shown)}',
      "${typeOf(shown)}",
    ],
    [
      "a refusal is told with its codes",
      "codes.map((code) => html`<code>${code}</code> `)",
      "codes.slice(1).map((code) => html`<code>${code}</code> `)",
    ],
    [
      "a parameter means what it says of itself, before its type",
      "parameter.description ?? schema.description",
      "schema.description",
    ],
    ["where a parameter stands is told", "${place}, ${typeOf(schema)}", "${typeOf(schema)}"],
    [
      "what an operation does is told by its description",
      "<p>${phrase(description)}</p>\n      <form",
      "<p>${phrase(summary)}</p>\n      <form",
    ],
    ["which fields a body has is told", "const fields = schema && fieldsOf(schema);", 'const fields = "";'],
    ["yes and no are chosen from", '(schema.type === "boolean" ? [true, false] : undefined)', "undefined"],
  ),
  ...slips(
    "docs.ts",
    [
      "an operation stands in its own group",
      ".filter(({ operation }) => operation.tags.includes(name))",
      ".filter(({ operation }) => !operation.tags.includes(name))",
    ],
    [
      "each group is led to",
      'tag.toLowerCase().replaceAll(" ", "-")',
      'tag.toLowerCase().replaceAll(" ", "")',
    ],
    [
      "who is signed in is told that requests are in their name",
      "        visitor\n          ? html`Requests",
      "        !visitor\n          ? html`Requests",
    ],
    ["each paragraph of the document is one", 'info.description.split("\\n\\n")', "[info.description]"],
  ),
];
