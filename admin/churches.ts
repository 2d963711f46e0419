import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { extname } from "node:path";
import type { Command } from "commander";
import { BadRow, importChurches } from "../db/churches/import.ts";
import { SourceError } from "../db/churches/read.ts";
import type { ChurchFormat, Place } from "../db/churches/read.ts";
import { AdminError } from "./context.ts";
import type { AdminContext } from "./context.ts";

const FORMATS: Readonly<Record<string, ChurchFormat>> = {
  ".csv": "csv",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".geojson": "geojson",
};

const NAMED = 20;

/** churches import. */
export function registerChurches(program: Command, context: AdminContext): void {
  const churches = program.command("churches").description("The churches that the search finds");

  churches
    .command("import")
    .description("Add churches, and update existing ones by church_id")
    .argument(
      "<file.csv|jsonl|geojson>",
      "columns by their names in the API; church_id and name are required",
    )
    .option("--strict", "change nothing when any row is bad")
    .addHelpText(
      "after",
      "\nA CSV sets the columns of its header and leaves the others as they are; a record of JSON Lines or GeoJSON\n" +
        'is the whole church. A list in a CSV cell is written ["one","two"] or one; two.',
    )
    .action(async (file: string, options: { strict?: boolean }) => {
      const format = FORMATS[extname(file).toLowerCase()];
      if (!format) throw new AdminError(`${file} must end in .csv, .jsonl or .geojson.`);
      const strict = options.strict ?? false;
      const size = await sizeOf(file);
      const pool = await context.pool();
      const source = createReadStream(file);
      // In kilobytes, because the number of rows is known only at the end.
      const progress = context.progress("churches (kB read)", Math.ceil(size / 1024));
      let shown = 0;
      const problems: (Place & { message: string })[] = [];
      try {
        const result = await importChurches(pool, source, {
          format,
          strict,
          onProblem: (place, message) => {
            context.warn(`${at(file, place)}: ${message}; left out`);
            problems.push({ ...place, message });
          },
          onUnknownColumns: (columns) => context.note(`${file}: no church has ${named(columns)}; left out`),
          onProgress: () => {
            const read = Math.floor(source.bytesRead / 1024);
            progress.advance(read - shown);
            shown = read;
          },
        });
        progress.advance(Math.ceil(size / 1024) - shown);
        progress.done();
        context.print(
          { ...result, problems },
          `${result.read} rows read: ${result.added} churches added, ${result.changed} changed, ` +
            `${result.unchanged} unchanged, ${result.refused} rows left out.`,
        );
      } catch (error) {
        progress.done();
        if (error instanceof BadRow)
          throw new AdminError(`${at(file, error.place)}: ${error.message}; nothing was changed.`, {
            cause: error,
          });
        if (error instanceof SourceError)
          throw new AdminError(`${file} cannot be read: ${error.message}.`, { cause: error });
        throw error;
      }
    });
}

/** The first few names of a list that may be very long. */
function named(columns: readonly string[]): string {
  const more = columns.length - NAMED;
  return columns.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function at(file: string, place: Place): string {
  return "line" in place ? `${file}:${place.line}` : `${file}: feature ${place.feature}`;
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    throw new AdminError(
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}
