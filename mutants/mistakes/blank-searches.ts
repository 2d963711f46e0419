// White space for which somebody seems to search: in every list as if they did not.
import type { Mistake } from "../mistake.ts";

const WORDS = { file: "db/rules/search.sql", tests: ["search"], only: "counts as left out" };

export const BLANK_SEARCHES: readonly Mistake[] = [
  {
    ...WORDS,
    rule: "white space is not refused as a text without words",
    before: "  if app_private.trimmed(q) is null then\n    return null;\n  end if;\n",
    after: "",
  },
  {
    ...WORDS,
    rule: "white space other than spaces is white space",
    before: "if app_private.trimmed(q) is null then",
    after: "if btrim(q) = '' then",
  },
  {
    ...WORDS,
    rule: "white space finds all records",
    before: "            return query select r.%2$I, 0::real from %4$s as r;\n",
    after: "",
  },
  {
    ...WORDS,
    rule: "with white space the pages of a list are those of the whole list",
    file: "server/rest/schemas.ts",
    before: 'value.trim() === ""',
    after: 'value === ""',
  },
  {
    ...WORDS,
    rule: "an empty search costs no more than none",
    file: "server/graphql/search.ts",
    before: ' && !$search.evalIs("")',
    after: "",
    survives: "finds the same, by reading all records",
  },
  {
    rule: "a tab is no part of a name",
    file: "db/rules/choosing.sql",
    before: "app_private.fold(app_private.trimmed(q))",
    after: "app_private.fold(q)",
    tests: ["choosing"],
    only: "white space",
  },
  {
    rule: "churches are not searched for white space",
    file: "db/rules/church-search.sql",
    before: "query.q := app_private.trimmed(query.q);",
    after: "query.q := nullif(btrim(query.q), '');",
    tests: ["churches"],
    only: "white space",
  },
  {
    rule: "the queue of claims searches for what the other searches search for",
    file: "db/rules/claim-queue.sql",
    before: "not null default app_private.trimmed(q) is not null;",
    after: "not null default not app_private.is_blank(coalesce(q, ''));",
    tests: ["claim-queue"],
    only: "cannot be seen",
  },
];
