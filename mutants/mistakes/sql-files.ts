// Mistakes in how the files of rules and migrations are found and carried out.
import type { Mistake } from "../mistake.ts";

const FILES = { file: "db/sql-files.ts", tests: ["migrate-plan"] } as const;

export const SQL_FILES: readonly Mistake[] = [
  {
    ...FILES,
    rule: "no file ends the transaction that it is carried out in",
    before: ".query(\"do $$ begin execute current_setting('engagement.sql'); end $$\")",
    after: ".query(sql)",
    only: "a transaction that",
  },
  {
    ...FILES,
    rule: "who begins a transaction in a file is told why they cannot",
    before: "error.routine === EXECUTE.routine;",
    after: "error.routine === EXECUTE.code;",
    only: "who would begin",
  },
  {
    ...FILES,
    rule: "what PostgreSQL does not support is not taken for a transaction",
    before: "error.code === EXECUTE.code && error.routine === EXECUTE.routine",
    after: "error.routine !== undefined",
    only: "who would begin",
  },
  {
    ...FILES,
    rule: "a line of the index that says something else is not left out without a word",
    before: "    if (file === undefined) {\n      throw",
    after: "    if (file === undefined) return [];\n    if (at < 0) {\n      throw",
    only: "an index of rules that names a file",
  },
  {
    ...FILES,
    rule: "a file that is named twice is not carried out twice",
    before: "!there.delete(file)",
    after: '!there.delete(file) && file === ""',
    only: "an index of rules that names a file twice",
  },
  {
    ...FILES,
    rule: "a file of rules that the index does not name is not left out without a word",
    before: "there.size > 0",
    after: "there.size > 1",
    only: "an index of rules",
  },
  {
    ...FILES,
    rule: "a file whose name ends in capitals is not left out without a word",
    before: "shouted !== undefined",
    after: "shouted === INDEX",
    only: "no other file",
  },
  {
    rule: "what is not there is told before a request looks for it",
    file: "db/rules/names.sql",
    before: "if lacking is not null then",
    after: "if lacking is null and lacking is not null then",
    tests: ["migrate-plan"],
    only: "that is misspelt",
  },
  {
    ...FILES,
    rule: "the index may have blanks",
    before: "\\\\ir\\s+(\\S+)\\s*$/",
    after: "\\\\ir (\\S+)$/",
    only: "an index of rules may",
  },
  {
    ...FILES,
    rule: "the index may have the ends of lines of other systems",
    before: ".split(/\\r?\\n/);",
    after: '.split("\\n");',
    only: "an index of rules may",
  },
  {
    ...FILES,
    rule: "a mistake in the body of a function is told with its line in the file",
    before: "start + Number(internalPosition)",
    after: "Number(internalPosition)",
    only: "a mistake within",
  },
  {
    ...FILES,
    rule: "what a statement within a file executes has no line of the file",
    before: " || start === -1",
    after: "",
    only: "a mistake within",
  },
  {
    rule: "a name in capitals is looked for as PostgreSQL reads it",
    file: "db/rules/names.sql",
    before: "lower(p.prosrc)",
    after: "p.prosrc",
    tests: ["migrate-plan"],
    only: "whatever is written beside it",
  },
];
