// What was drawn at random from the whole code and went unnoticed, or was noticed by luck; and what is like it.
import type { Mistake } from "../mistake.ts";

export const DRAWN_AGAIN: readonly Mistake[] = [
  {
    rule: "the database is asked what it knows of the store before the store is asked",
    file: "worker/watch.ts",
    before: `const known = await readKnown(pool);
  const { mark, graphs } = await readMarks(store, names, { timeoutMs: TIMEOUT_MS });`,
    after: `const [known, { mark, graphs }] = await Promise.all([
    readKnown(pool),
    readMarks(store, names, { timeoutMs: TIMEOUT_MS }),
  ]);`,
    tests: ["store-losses"],
    only: "written while the store is being looked at",
  },
  {
    rule: "an approved claim stands in for a membership since it was made, and not since it was last changed",
    file: "db/rules/membership.sql",
    before: "stands in for %s.', s.role),\n  s.created_at\n",
    after: "stands in for %s.', s.role),\n  s.updated_at\n",
    tests: ["own-standing"],
    only: "what several approved claims stand in for",
  },
  {
    rule: "members are shown with the day on which they became it, and not that of the last change",
    file: "admin/members.ts",
    before: "row.createdAt.slice(0, 10)",
    after: "row.updatedAt.slice(0, 10)",
    tests: ["operator-tables"],
    only: "members: each",
  },
  {
    rule: "of a session it is shown since when it is, and then when it was last used",
    file: "admin/sessions.ts",
    before: "...[row.createdAt, row.lastUsedAt]",
    after: "...[row.lastUsedAt, row.createdAt]",
    tests: ["operator-tables"],
    only: "sessions: each",
  },
  {
    rule: "of a session it is shown who vouched for the address",
    file: "admin/sessions.ts",
    before: 'row.issuer ?? "a link by mail"',
    after: '"a link by mail"',
    tests: ["operator-tables"],
    only: "sessions: each",
  },
  {
    rule: "a change that comes while others are written is not told to be on the disk with them",
    file: "graph/embedded/journal.ts",
    before: `const batch = this.#waiting.splice(0);
    try {
      if (!this.#file) throw new Error("The journal is closed.");
      const bytes = Buffer.concat(batch.map((waiting) => waiting.record));
      await this.#file.appendFile(bytes);
      await this.#file.datasync();`,
    after: `const written = [...this.#waiting];
    let batch = written;
    try {
      if (!this.#file) throw new Error("The journal is closed.");
      const bytes = Buffer.concat(written.map((waiting) => waiting.record));
      await this.#file.appendFile(bytes);
      await this.#file.datasync();
      batch = this.#waiting.splice(0);`,
    tests: ["embedded-store-durable"],
    only: "comes while another is told",
  },
];
