import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { createNames } from "../graph/namespaces.ts";
import type { VocabularyProblem } from "../graph/skos.ts";
import { importVocabulary, readVocabulary } from "../worker/imports.ts";
import { AdminError } from "./context.ts";
import type { AdminContext } from "./context.ts";

/** vocabulary import. */
export function registerVocabulary(program: Command, context: AdminContext): void {
  const vocabulary = program.command("vocabulary").description("The accelerator scheme: its codes");

  vocabulary
    .command("import")
    .description(
      "Import an edition of the accelerator scheme. A code missing from it is deprecated, not deleted; one that is malformed in it stays as it was.",
    )
    .argument("<file.ttl>", "SKOS in Turtle: notation, prefLabel, broader")
    .option("--strict", "change nothing when any concept has a problem")
    .action(async (file: string, options: { strict?: boolean }) => {
      const turtle = await readText(file);
      const names = createNames(context.config);
      const pool = await context.pool();
      const { problems } = await readVocabulary(pool, turtle, names);
      reportProblems(context, problems, options.strict ?? false);
      const result = await importVocabulary(pool, turtle, names);
      context.print(
        result,
        `${result.added} codes added, ${result.changed} changed, ${result.deprecated} deprecated; ` +
          `${result.rechecked} records will be checked again.`,
      );
    });
}

/**
 * Reads a file that the operator named.
 * @throws AdminError if it cannot be read, or is not UTF-8, so that its text would be misread
 */
export async function readText(file: string): Promise<string> {
  try {
    const bytes = await readFile(file);
    if (!isUtf8(bytes)) throw new Error("it is not UTF-8");
    return bytes.toString();
  } catch (error) {
    throw new AdminError(
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Reports concepts that are left out.
 * @throws AdminError with --strict, if there are any
 */
export function reportProblems(
  context: AdminContext,
  problems: readonly VocabularyProblem[],
  strict: boolean,
): void {
  for (const { concept, message } of problems) {
    if (strict) context.note(`${concept}: ${message}`);
    else context.warn(`${concept}: ${message}; left out`);
  }
  if (strict && problems.length > 0) {
    throw new AdminError(`${problems.length} concepts have a problem; nothing was changed.`);
  }
}
