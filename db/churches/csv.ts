// Reads CSV with csv-parse, one record after another with its line. csv-parse cannot continue after a
// misplaced quote: here only that record is lost, and reading continues on the line after its first.
import { CsvError, parse } from "csv-parse/sync";
import { LONGEST_RECORD, TOO_LONG, wholeLines } from "./lines.ts";

/** A record of a CSV file and the line it begins on, or what is wrong with it. */
type CsvRecord = { line: number; cells: string[] } | { line: number; cells?: undefined; problem: string };

export interface CsvOptions {
  /** whether to ignore white space around cells and their quotes */
  trim?: boolean;
}

/** Splits a file into records as it arrives; empty lines are skipped. */
export async function* csvRecords(
  source: AsyncIterable<Buffer | string>,
  options: CsvOptions = {},
): AsyncIterable<CsvRecord> {
  let rest = Buffer.alloc(0);
  let line = 1;
  let atStart = true;
  const read = function* (last: boolean): Iterable<CsvRecord> {
    for (;;) {
      const block = last ? rest : rest.subarray(0, rest.lastIndexOf("\n") + 1);
      const { records, misfit } = recordsOf(block, atStart, options);
      let start = 0;
      for (const { cells, end } of records) {
        if (cells.length > 1 || cells[0] !== "") yield { line, cells };
        line += countLines(rest.subarray(start, end));
        start = end;
      }
      rest = rest.subarray(start);
      atStart &&= start === 0;
      // A later block may close the quote; but one that is never closed must not swallow the file.
      const open = misfit === "CSV_QUOTE_NOT_CLOSED" && !last && rest.length < LONGEST_RECORD;
      if (misfit === undefined || open) return;
      yield { line, problem: "has misplaced quotes" };
      line += 1;
      const end = rest.indexOf("\n");
      rest = rest.subarray(end === -1 ? rest.length : end + 1);
    }
  };
  for await (const block of wholeLines(source)) {
    if (block) {
      rest = Buffer.concat([rest, block]);
      yield* read(false);
      continue;
    }
    yield* read(true);
    yield { line, problem: TOO_LONG };
    line += 1;
    atStart = false;
  }
  yield* read(true);
}

type Records = { records: { cells: string[]; end: number }[]; misfit?: CsvError["code"] };

/** The records of a text, each with the byte it ends before, up to the first with misplaced quotes. */
function recordsOf(text: Buffer, atStart: boolean, { trim = false }: CsvOptions): Records {
  const records: Records["records"] = [];
  try {
    parse(text, {
      bom: atStart,
      on_record: (cells: string[], { bytes }) => {
        records.push({ cells, end: bytes });
        return null;
      },
      record_delimiter: ["\r\n", "\n"],
      relax_column_count: true,
      trim,
    });
    return { records };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { records, misfit: error.code };
  }
}

function countLines(text: Buffer): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}
