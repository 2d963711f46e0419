// CSV as RFC 4180 has it, one record after another with its line. A record whose quotes do not fit costs itself
// alone: reading goes on with the line after its first.

/** A record of a CSV and the line it begins on; no cells where its quotes do not fit. */
export type CsvRecord = { line: number; cells: string[] | undefined };

/** Lines that one record may have: a quote that is never closed must not swallow the file. */
const LONGEST_RECORD = 1_000;

/** Parts lines, which come without their line feed, into records; empty lines are none. */
export async function* csvRecords(lines: AsyncIterable<string>): AsyncIterable<CsvRecord> {
  const source = lines[Symbol.asyncIterator]();
  let waiting: string[] = [];
  let line = 0;
  for (;;) {
    const record: string[] = [];
    let cells: string[] | "open" | "bad" = "open";
    while (cells === "open" && record.length < LONGEST_RECORD) {
      const next: string | undefined = waiting.shift() ?? ((await source.next()).value as string | undefined);
      if (next === undefined) break;
      record.push(next);
      cells = cellsOf(record.length === 1 ? next : record.join("\n"));
    }
    if (record.length === 0) return;
    if (Array.isArray(cells)) {
      if (cells.length > 1 || cells[0] !== "") yield { line: line + 1, cells };
      line += record.length;
    } else {
      yield { line: line + 1, cells: undefined };
      waiting = [...record.slice(1), ...waiting];
      line += 1;
    }
  }
}

/** The cells of a record; open: a quote is not closed yet; bad: a quote stands where none may. */
function cellsOf(record: string): string[] | "open" | "bad" {
  const text = record.endsWith("\r") ? record.slice(0, -1) : record;
  if (!text.includes('"')) return text.split(",");
  const cells: string[] = [];
  for (let from = 0; ;) {
    if (text[from] === '"') {
      let end = text.indexOf('"', from + 1);
      while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
      if (end === -1) return "open";
      cells.push(text.slice(from + 1, end).replaceAll('""', '"'));
      if (end + 1 === text.length) return cells;
      if (text[end + 1] !== ",") return "bad";
      from = end + 2;
    } else {
      const end = text.indexOf(",", from);
      const cell = text.slice(from, end === -1 ? undefined : end);
      if (cell.includes('"')) return "bad";
      cells.push(cell);
      if (end === -1) return cells;
      from = end + 1;
    }
  }
}
