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
];
