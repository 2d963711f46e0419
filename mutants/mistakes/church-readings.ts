// Files of churches, where what is read is right and something at its edge is not.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (tests: string, file: string, ...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: [tests], only }));

export const CHURCH_READINGS: readonly Mistake[] = [
  ...slips("church-files", "db/churches/conversions.ts", [
    "characters",
    "a text in a list is no longer than others",
    'textOf(item ?? "", 2_000)',
    'textOf(item ?? "", 100_000)',
  ]),
  ...slips(
    "church-files",
    "db/churches/read.ts",
    [
      "cannot be read on",
      "a file that cannot be read on is not said to be badly written",
      "if (sourceFailed || error instanceof SourceError) throw error;",
      "if (error instanceof SourceError) throw error;",
    ],
    [
      "called 0",
      "a feature may be called 0",
      "...(id !== undefined && { church_id: id }),",
      "...(id ? { church_id: id } : {}),",
    ],
  ),
  ...slips("church-files", "db/churches/read.ts", [
    "badly written",
    "where a GeoJSON is badly written is told as well as it is known",
    'feature === 0 ? "" : ` somewhere after feature ${feature}`',
    '""',
  ]),
  ...slips(
    "church-import",
    "admin/churches.ts",
    ["byte order mark", "JSON Lines may be called ndjson", '  ".ndjson": "jsonl",\n', ""],
    [
      "byte order mark",
      "a file that has been read is shown to have been read to its end",
      "        progress.advance(Math.ceil(size / 1024) - shown);\n",
      "",
    ],
    [
      "changes nothing when a row is bad",
      "how far an import came is told to its end also where it fails",
      "} catch (error) {\n        progress.done();\n",
      "} catch (error) {\n",
    ],
    [
      "one clear line",
      "a file that there is not is named",
      "`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,\n      { cause",
      "`It cannot be read: ${error instanceof Error ? error.message : String(error)}`,\n      { cause",
    ],
  ),
];
