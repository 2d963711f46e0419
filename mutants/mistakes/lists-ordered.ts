// Lists in another order than the one that is promised, and filters that take what no record can have.
import type { Mistake } from "../mistake.ts";

export const LISTS_ORDERED: readonly Mistake[] = [
  {
    rule: "members are listed by their addresses, and not by their roles",
    file: "server/resources/orgs-members.ts",
    before: "${MEMBER} order by member.ordinality",
    after: "${MEMBER} order by member.role",
    tests: ["membership-roles"],
    only: "members are listed in the order",
  },
  {
    rule: "a person's organizations are listed by their URIs, and not by the roles there",
    file: "server/resources/admin-users.ts",
    before: "'status', membership.status)), '[]')",
    after: "'status', membership.status) order by membership.role), '[]')",
    tests: ["membership-roles"],
    only: "organizations are listed in the order",
  },
  {
    rule: "nobody is shown an empty list for a ROP3 code that is none",
    file: "server/rest/schemas.ts",
    before: ".regex(/^[0-9]{6}$/",
    after: ".regex(/^[0-9]{5,6}$/",
    tests: ["input"],
    only: "a filter is as well-formed",
  },
  {
    rule: "a filter with a NUL character is refused as such",
    file: "server/rest/schemas.ts",
    before:
      '    .string({ error: "must be text" })\n    .refine((value) => !value.includes("\\0"), NUL)\n    .refine(\n',
    after: '    .string({ error: "must be text" })\n    .refine(\n',
    tests: ["input"],
    only: "a filter is as well-formed",
  },
];
