// What the owner's programs do, which takes as long as it takes; what an import of churches refuses; an end that is seen as one.
import type { Mistake } from "../mistake.ts";

const POOL = { file: "db/pool.ts", tests: ["owner-pool"] };
const CHURCHES = { tests: ["church-import"] };
const PLACES = { file: "db/churches/read.ts", tests: ["church-files"], only: "GeoJSON" };
const SCRIPTS = { ...CHURCHES, file: "db/rules/churches.sql", only: "as a script" };

export const OWNERS_WORK: readonly Mistake[] = [
  ...[
    "statement_timeout",
    "transaction_timeout",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
  ].map((limit) => ({
    ...POOL,
    rule: `the ${limit} that an operator has set is not for the owner's programs`,
    before: `'${limit}'`,
    after: "'TimeZone'",
  })),
  {
    ...POOL,
    rule: "to them a time without an offset is in UTC",
    before: "then 'UTC'",
    after: "then setting",
    only: "an import",
  },
  {
    ...POOL,
    rule: "the operator's tool connects as the owner does",
    file: "admin/context.ts",
    before: "import { createOwnerPool }",
    after: "import { createPool as createOwnerPool }",
    only: "an import",
  },
  {
    ...POOL,
    rule: "so does the worker",
    file: "worker/main.ts",
    before: "import { createOwnerPool }",
    after: "import { createPool as createOwnerPool }",
    only: "a worker",
  },
  {
    rule: "and so does the migration",
    file: "db/migrate.ts",
    before: "import { createOwnerPool }",
    after: "import { createPool as createOwnerPool }",
    tests: ["migrate-locks"],
    only: "limits that the operator",
  },
  {
    ...PLACES,
    rule: "a church is not left without the place that its feature has",
    before: 'geometry?.type !== "Point" || ',
    after: "",
  },
  {
    ...PLACES,
    rule: "a point is two numbers",
    before: 'typeof longitude !== "number" || typeof latitude !== "number"',
    after: "longitude === undefined || latitude === undefined",
  },
  {
    ...PLACES,
    rule: "the place in the properties is more than that of the geometry",
    before: "if (saysPlace || ",
    after: "if (",
  },
  {
    ...PLACES,
    rule: "but where they have none, the geometry has",
    before: "!isBlank(given[name])",
    after: "given[name] !== undefined",
  },
  {
    ...PLACES,
    rule: "half of a place is not made whole",
    before: '["latitude", "longitude"].some(',
    after: '["latitude"].some(',
  },
  {
    ...SCRIPTS,
    rule: "a link is no script, in whatever case it is written",
    before: ' flag "i"',
    after: "",
  },
  {
    ...SCRIPTS,
    rule: "nor with white space",
    before: String.raw`"^\\s*(java|vb)script\\s*:"`,
    after: '"^(java|vb)script:"',
  },
  {
    ...SCRIPTS,
    rule: "what is within a link is no script",
    before: String.raw`"^\\s*(java`,
    after: String.raw`"\\s*(java`,
  },
  {
    ...SCRIPTS,
    rule: "every column of links is looked at",
    before: "'^url_|_urls?$|^website$'",
    after: "'^url_|_url$|^website$'",
  },
  {
    ...SCRIPTS,
    rule: "text is not a link",
    before: "field.key ~ '^url_|_urls?$|^website$' and ",
    after: "",
  },
  {
    ...SCRIPTS,
    rule: "an import looks at a row that may have a script",
    before: "  or row_text ~* '(java|vb)script\\s*:'\n",
    after: "",
  },
  {
    rule: "a stream that is cut off does not look as if it had ended",
    file: "server/graphql/transports.ts",
    before: "cut: () => breakOff(response),",
    after: "cut: () => response.destroy(),",
    tests: ["graphql-subscriptions"],
    only: "is reset",
  },
];
