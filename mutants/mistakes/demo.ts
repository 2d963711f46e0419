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
    rule: "a demo key that is revoked lets the service listen elsewhere",
    file: "db/demo/load.ts",
    before: "where is_demo and revoked_at is null and",
    after: "where is_demo and",
    tests: ["demo-data"],
  },
  {
    rule: "a demo key that has expired opens nothing",
    file: "db/demo/load.ts",
    before: "(expires_at is null or expires_at > now())",
    after: "true",
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
    rule: "the graph is told of a demo record by its fixed id alone",
    file: "db/demo/load.ts",
    before: "delete from app_private.graph_records where record_id = $1",
    after: "delete from app_private.graph_records where record_id is null",
    tests: ["demo-data"],
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
    rule: "mails about the demo's claims know them by their fixed ids",
    file: "db/demo/load.ts",
    before: "data = data || jsonb_build_object('claimId', $2::text)",
    after: "data = data",
    tests: ["demo-data"],
    only: "claims that wait",
  },
  {
    rule: "the history of a demo's claim is kept with its fixed id",
    file: "db/demo/load.ts",
    before: "update app_public.organization_claim_history set claim_id = $2 where claim_id = $1",
    after: "delete from app_public.organization_claim_history where claim_id = $1",
    tests: ["demo-data"],
    only: "claims that wait",
  },
];
