import { createReadStream } from "node:fs";
import type { Command } from "commander";
import type { Pool } from "pg";
import { csvRecords } from "../db/churches/csv.ts";
import { createNames } from "../graph/namespaces.ts";
import { parsePeopleGroups } from "../graph/skos.ts";
import type { PeopleGroup } from "../graph/skos.ts";
import { importPeopleGroups, problemsOf } from "../worker/imports.ts";
import { AdminError } from "./context.ts";
import type { AdminContext } from "./context.ts";
import { readText, reportProblems } from "./vocabulary.ts";

/** A group from a file, and its place there. */
type Found = PeopleGroup & { place: string };

/** people-groups import. */
export function registerPeopleGroups(program: Command, context: AdminContext): void {
  const peopleGroups = program
    .command("people-groups")
    .description(
      "The registry of people groups. Once it has entries, records may refer only to groups in it.",
    );

  peopleGroups
    .command("import")
    .description("Add people groups, or rename them. Records that were refused are checked again.")
    .argument("<file.csv|ttl>", "CSV with the header rop3,name (more columns are allowed), or SKOS in Turtle")
    .option("--strict", "change nothing when any row has a problem")
    .action(async (file: string, options: { strict?: boolean }) => {
      const strict = options.strict ?? false;
      const found = /\.(ttl|turtle)$/i.test(file)
        ? await fromTurtle(file, context, strict)
        : await fromCsv(file, context, strict);
      const pool = await context.pool();
      const groups = await wellFormed(pool, found, context, strict);
      if (groups.length === 0) throw new AdminError(`${file} contains no people groups.`);
      const result = await importPeopleGroups(pool, groups);
      context.print(
        { ...result, read: groups.length },
        `${groups.length} people groups read: ${result.added} added, ${result.changed} renamed; ` +
          `${result.rechecked} records will be checked again.`,
      );
    });
}

async function fromTurtle(file: string, context: AdminContext, strict: boolean): Promise<Found[]> {
  const { peopleGroups, problems } = parsePeopleGroups(await readText(file), createNames(context.config));
  reportProblems(context, problems, strict);
  return peopleGroups.map((group) => ({ ...group, place: group.rop3 }));
}

async function fromCsv(file: string, context: AdminContext, strict: boolean): Promise<Found[]> {
  const progress = context.progress("people groups");
  const groups: Found[] = [];
  let columns: Columns | undefined;
  let bad = 0;
  try {
    for await (const { line, ...row } of csvRecords(createReadStream(file), { trim: true })) {
      if (!columns) {
        if (!row.cells) throw new AdminError(`${file}:${line}: ${row.problem}`);
        columns = columnsOf(row.cells, file);
        continue;
      }
      const [rop3, name] = [row.cells?.[columns.rop3], row.cells?.[columns.name]];
      const problem = row.cells ? problemOf(rop3, name) : row.problem;
      const place = `${file}:${line}`;
      if (problem === undefined) groups.push({ rop3: rop3!, name: name!, place });
      else {
        bad += 1;
        report(context, `${place}: ${problem}`, strict);
      }
      progress.advance();
    }
  } catch (error) {
    if (error instanceof AdminError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new AdminError(`${file} cannot be read: ${reason}`, { cause: error });
  } finally {
    progress.done();
  }
  requireNone(bad, strict);
  return groups;
}

type Columns = Record<"rop3" | "name", number>;

/** Finds the columns in the header. @throws AdminError if one is missing or there twice */
function columnsOf(header: readonly string[], file: string): Columns {
  const names = header.map((name) => name.toLowerCase());
  const columns = { rop3: names.indexOf("rop3"), name: names.indexOf("name") };
  if (columns.rop3 === -1 || columns.name === -1)
    throw new AdminError(`${file} has no columns rop3 and name.`);
  for (const name of ["rop3", "name"])
    if (names.indexOf(name) !== names.lastIndexOf(name))
      throw new AdminError(`${file} has the column ${name} twice.`);
  return columns;
}

/** The groups whose names the database accepts; reports the others. */
async function wellFormed(
  pool: Pool,
  found: readonly Found[],
  context: AdminContext,
  strict: boolean,
): Promise<PeopleGroup[]> {
  const problems = await problemsOf(
    pool,
    "name",
    found.map(({ name }) => name),
  );
  for (const [at, problem] of problems) report(context, `${found[at]!.place}: the name ${problem}`, strict);
  requireNone(problems.size, strict);
  return found.filter((_, at) => !problems.has(at)).map(({ rop3, name }) => ({ rop3, name }));
}

function report(context: AdminContext, problem: string, strict: boolean): void {
  if (strict) context.note(problem);
  else context.warn(`${problem}; left out`);
}

function requireNone(bad: number, strict: boolean): void {
  if (strict && bad > 0) throw new AdminError(`Rows with a problem: ${bad}; nothing was changed.`);
}

function problemOf(rop3: string | undefined, name: string | undefined): string | undefined {
  if (rop3 === undefined || !/^\d{6}$/.test(rop3)) return `"${rop3 ?? ""}" is not a ROP3 code of six digits`;
  if (name === undefined || name === "") return `${rop3} has no name`;
  return undefined;
}
