// What searches take, find and put first, and how texts are kept and refused, where the rules say so by themselves.
import type { Mistake } from "../mistake.ts";

const inRules = (
  file: string,
  tests: string,
  only: string,
  ...slips: [string, string, string][]
): Mistake[] =>
  slips.map(([rule, before, after]) => ({
    ...{ rule, file: `db/rules/${file}.sql`, before, after },
    ...{ tests: [tests], only },
  }));

export const SEARCHES: readonly Mistake[] = [
  ...inRules("church-search", "churches", "called the same the one with fewer", [
    "of those that are called the same the one with fewer other words comes first",
    "c.document, %L::tsquery, 2)",
    "c.document, %L::tsquery)",
  ]),
  ...inRules(
    "church-search",
    "churches",
    "blanks around",
    [
      "a part of a church's name is looked for without the blanks around it",
      "query.church_name := app_private.trimmed(query.church_name);",
      "query.church_name := nullif(query.church_name, '');",
    ],
    [
      "a region is looked for without the blanks around it",
      "query.region := app_private.trimmed(query.region);",
      "query.region := nullif(query.region, '');",
    ],
  ),
  ...inRules("church-conditions", "churches", "the likest fifty", [
    "of many words that are like a misspelt one the likest are looked for",
    "order by similarity(word, term) desc limit 50",
    "limit 50",
  ]),
  ...inRules(
    "church-inputs",
    "churches",
    "200 characters in each text",
    [
      "a church's id is as short as any text that is looked for",
      "'locality', 'postal_code', 'id', 'church_name'] loop",
      "'locality', 'postal_code', 'church_name'] loop",
    ],
    [
      "traditions are as few as any items that are looked for",
      "array['languages', 'programs', 'belief'] loop",
      "array['languages', 'programs'] loop",
    ],
    [
      "each item that is looked for is short",
      "where char_length(item) > 200) then",
      "where char_length(item) > 2000) then",
    ],
  ),
  ...inRules("church-inputs", "church-cursors", "any place up to a thousand", [
    "a cursor says no place beyond those that there are",
    "abs((place ->> 2)::numeric) > 1000",
    "abs((place ->> 2)::numeric) > 10000",
  ]),
  ...inRules("churches", "texts", "a church's programs", [
    "what a church tells of its programs may have lines",
    "'church_summary', 'ministries_json')",
    "'church_summary', 'ministries')",
  ]),
  ...inRules("organizations", "texts", "an organization a name", [
    "an organization has a name, also where SQL alone adds it",
    "case when new.name is null or new.name is distinct from old.name",
    "case when new.name is distinct from old.name",
  ]),
  ...inRules("platform-users", "texts", "an organization a name", [
    "a person has an address, also where SQL alone adds them",
    "case when new.email is null or new.email is distinct from old.email",
    "case when new.email is distinct from old.email",
  ]),
  ...inRules(
    "validation",
    "texts",
    "how long a text may be is said",
    [
      "how long a text may be is said as a reader writes it",
      "to_char(app_private.longest_text(kind), 'FM999,999')",
      "app_private.longest_text(kind)",
    ],
    [
      "of several problems each stands by itself",
      "p ->> 'message'), '; ') || '.'",
      "p ->> 'message'), ', ') || '.'",
    ],
  ),
  ...inRules("claim-queue", "claim-to-review", "likelier than one with nearly the same name", [
    "one with the same domain is likelier than one with nearly the same name",
    "+ count(*) filter (where a.reason <> 'name')",
    "+ count(*)",
  ]),
  ...inRules("claim-queue", "claim-to-review", "each under its own name", [
    "when a claim was reviewed is not when it was changed last",
    "'reviewedAt', claim.reviewed_at,",
    "'reviewedAt', claim.updated_at,",
  ]),
  ...inRules("claim-queue", "claim-queue", "whose address is proven", [
    "those whose address is only stated are found by themselves",
    "and (proven is null or c.email_verified = proven)",
    "and (proven is not true or c.email_verified)",
  ]),
  ...inRules("reasons", "authorization-reasons", "by two roles is named once", [
    "who may do something by two roles is told with both",
    "string_agg(format('On the platform: %s.', p.role), ' ' order by p.role)",
    "min(format('On the platform: %s.', p.role))",
  ]),
  ...inRules("commitments", "bare-sql", "no text is kept with what is blank", [
    "what is promised is kept without what is blank around it",
    "  new.commitment_description := app_private.trimmed(new.commitment_description);\n",
    "",
  ]),
  ...inRules("engagement-claims", "bare-sql", "no text is kept with what is blank", [
    "what a country is called is kept without what is blank around it",
    "  new.country_name := app_private.trimmed(new.country_name);\n",
    "",
  ]),
];
