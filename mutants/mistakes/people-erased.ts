// What the operator keeps on a person and erases, with texts, addresses and names that stand in the way.
import type { Mistake } from "../mistake.ts";

export const PEOPLE_ERASED: readonly Mistake[] = [
  {
    rule: "what is no address is refused where a person is exported",
    file: "db/rules/people.sql",
    before: "  perform app_private.require_address(email);\n  for searched in",
    after: "  for searched in",
    tests: ["people"],
    only: "nobody's address",
  },
  {
    rule: "what is no address is refused where a person is erased, before anything else is asked",
    file: "db/rules/people.sql",
    before: "  perform app_private.require_address(email);\n  -- As whoever else",
    after: "  -- As whoever else",
    tests: ["people"],
    only: "nobody's address",
  },
  {
    rule: "what is no address is refused where sessions end",
    file: "db/rules/sessions.sql",
    before: "begin\n  perform app_private.require_address(email);\n  delete",
    after: "begin\n  delete",
    tests: ["people"],
    only: "nobody's address",
  },
  {
    rule: "what is no address is refused where authority is explained",
    file: "db/rules/reasons.sql",
    before: "  perform app_private.require_address(email);\n",
    after: "",
    tests: ["people"],
    only: "nobody's address",
  },
  {
    rule: "an address of earlier rules is still somebody's",
    file: "db/rules/sessions.sql",
    before:
      "if not exists (select from app_public.users as u where lower(u.email) = lower(require_address.email))\n    and not",
    after: "if not",
    tests: ["people"],
    only: "earlier rules",
  },
  {
    rule: "an address that ends in a person's is not found to be theirs",
    file: "db/rules/mentions.sql",
    before:
      "when app_private.is_email(value) then regexp_replace(value, '^(' || pattern || ')$', substitute, 'i')\n",
    after: "when false then null\n",
    tests: ["people"],
    only: "another's address",
  },
  {
    rule: "an item of a list that is an address is whole as well",
    file: "db/rules/mentions.sql",
    before: "array_agg(app_private.substituted(t.item, pattern, substitute) order",
    after: "array_agg(regexp_replace(t.item, pattern, substitute, 'gi') order",
    tests: ["people"],
    only: "another's address",
  },
  {
    rule: "in a text nobody's address is touched who is known",
    file: "db/rules/mentions.sql",
    before:
      "concat_ws('|', usual.before, string_agg(app_private.literal_pattern(left(u.email, -given.length)), '|'))",
    after: "usual.before",
    tests: ["people"],
    only: "another's address",
  },
  {
    rule: "in a text quotes around an address are none of it",
    file: "db/rules/mentions.sql",
    before: "select '[A-Za-z0-9][._%+-]*' as before",
    after: "select '[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]' as before",
    tests: ["people"],
    only: "another's address",
  },
  {
    rule: "dashes behind an address are none of it, unless its domain goes on",
    file: "db/rules/mentions.sql",
    before: "'(?!-*[A-Za-z0-9]|",
    after: "'(?!-|[A-Za-z0-9]|",
    tests: ["people"],
    only: "another's address",
  },
  {
    rule: "churches that name another are not told of",
    file: "db/rules/people.sql",
    before:
      "\n    and to_jsonb(c) <> app_private.substituted(to_jsonb(c), app_private.address_pattern(churches_naming.email), '')",
    after: "",
    tests: ["people"],
    only: "another's address",
  },
];
