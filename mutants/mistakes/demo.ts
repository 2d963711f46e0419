// The demo, and the list of free mail.
import type { Mistake } from "../mistake.ts";

export const DEMO: readonly Mistake[] = [
  {
    rule: "a database with organizations and no key has been touched",
    file: "db/demo/load.ts",
    before: "`select not exists (select from app_public.organizations)\n       and not exists",
    after: "`select not exists",
    tests: ["demo-data"],
  },
  {
    rule: "a demo key that is revoked, or has expired, lets the service listen elsewhere",
    file: "db/demo/load.ts",
    before: "where k.is_demo and app_private.key_state(k) = 'live'",
    after: "where k.is_demo",
    tests: ["demo-data"],
  },
  {
    rule: "a demo that fails half-way leaves nothing",
    file: "db/demo/load.ts",
    before: '    await client.query("begin");\n    await insertPeople',
    after: "    await insertPeople",
    tests: ["demo-data"],
  },
  {
    rule: "the demo's records are of several months",
    file: "db/demo/load.ts",
    before: "set created_at = now() - $2 * interval '1 day' where",
    after: "set created_at = now() - $2 * interval '1 hour' where",
    tests: ["demo-data"],
  },
  {
    rule: "a demo record's history begins when it does",
    file: "db/demo/load.ts",
    before: "set changed_at = now() - $2 * interval '1 day'",
    after: "set changed_at = now()",
    tests: ["demo-data"],
  },
  {
    rule: "the demo's records have fixed ids",
    file: "db/demo/load.ts",
    before: "    await nextId(client, kind, KEYS[kind], id);\n",
    after: "",
    tests: ["demo-data"],
  },
  {
    rule: "the records after the demo's have random ids",
    file: "db/demo/load.ts",
    before: "await nextId(client, table, column);",
    after: "",
    tests: ["demo-data"],
    only: "random ids",
  },
  {
    rule: "the claims after the demo's have random ids",
    file: "db/demo/load.ts",
    before: '    await nextId(client, "organization_claims", "claim_id");\n',
    after: "",
    tests: ["demo-data"],
    only: "random ids",
  },
  {
    rule: "addresses of free mail are compared in the form of the database",
    file: "db/generate-free-mail-domains.ts",
    before: "domainToASCII(entry.trim())",
    after: "entry.trim()",
    tests: ["membership-domains"],
    only: "the database knows",
  },
  {
    rule: "the demo's claims have fixed ids",
    file: "db/demo/load.ts",
    before:
      '  await nextId(client, "organization_claims", "claim_id", demoId("organization claim", index));\n',
    after: "",
    tests: ["demo-data"],
    only: "claims that wait",
  },
];
