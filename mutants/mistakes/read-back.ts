// Values that a store reads back in a form of its own; an empty list of values; a mail that is in a migration's way.
import type { Mistake } from "../mistake.ts";

export const READ_BACK: readonly Mistake[] = [
  {
    rule: "a whole decimal is written as every store finds it again",
    file: "graph/terms.ts",
    before: 'return digits.includes(".") ? digits : `${digits}.0`;',
    after: "return digits;",
    tests: ["store"],
    only: "and removes it",
  },
  {
    rule: "records' numbers are written so too",
    file: "graph/triples.ts",
    before: 'typed("decimal", canonicalDecimal)',
    after: 'typed("decimal")',
    tests: ["graph-parts"],
    only: "is written as",
  },
  {
    rule: "of an empty list nothing is wrong",
    file: "server/graphql/forms.ts",
    before: " || Array.isArray(value)",
    after: "",
    tests: ["graphql-records"],
    only: "at all",
  },
  {
    rule: "no mail is handed over while the database is being migrated",
    file: "worker/outbox.ts",
    before: "!(await isMigrating(client, result)) && ",
    after: "",
    tests: ["outbox"],
    only: "being migrated",
  },
  {
    rule: "whatever else somebody has locked",
    file: "db/rules/outbox.sql",
    before: "l.classid::bigint << 32 | l.objid::bigint = lock",
    after: "(l.objid::bigint = lock or l.classid::bigint = lock)",
    tests: ["outbox"],
    only: "being migrated",
  },
  {
    rule: "and wherever in the cluster",
    file: "db/rules/outbox.sql",
    before:
      "\n      and l.database = (select d.oid from pg_database as d where d.datname = current_database())\n      and l.classid",
    after: "\n      and l.classid",
    tests: ["outbox"],
    only: "being migrated",
  },
];
