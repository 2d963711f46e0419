// Imports churches: the rows of a file, checked one by one, go through COPY into a staging table, and from there into
// the table by church_id.
import type { Readable } from "node:stream";
import type pg from "pg";
import { CHURCH_COLUMNS } from "./columns.ts";
import { Lane } from "./lane.ts";
import { readChurches, SourceError } from "./read.ts";
import type { ChurchFormat, Place } from "./read.ts";
import { RowConverter } from "./row.ts";

// Each connection keeps one core of the database busy.
const LANES = 2;

type ChurchImportOptions = {
  format: ChurchFormat;
  /** All or nothing: stops at the first bad row. */
  strict?: boolean;
  /** Called for each row that was left out. */
  onProblem?: (place: Place, problem: string) => void;
  /** Called with unknown columns; their values are left out. */
  onUnknownColumns?: (columns: string[]) => void;
  /** Called with the number of further rows done. */
  onProgress?: (rows: number) => void;
};

/** What an import did, in numbers of rows. A church that a file names twice is counted once, as it appears last. */
export type ChurchImport = {
  read: number;
  added: number;
  changed: number;
  unchanged: number;
  refused: number;
};

/** The first bad row of a strict import. */
export class BadRow extends Error {
  override name = "BadRow";
  readonly place: Place;

  constructor(place: Place, problem: string) {
    super(problem);
    this.place = place;
  }
}

/**
 * Adds churches and updates existing ones, by church_id. A CSV file writes the columns in its header and leaves the
 * others unchanged; a record of JSON or GeoJSON is the whole church.
 * @param pool of the role that owns the schema
 * @throws SourceError when the file cannot be read; BadRow at the first bad row of a strict import
 */
export async function importChurches(
  pool: pg.Pool,
  source: Readable,
  { format, strict = false, onProblem, onUnknownColumns, onProgress }: ChurchImportOptions,
): Promise<ChurchImport> {
  const result: ChurchImport = { read: 0, added: 0, changed: 0, unchanged: 0, refused: 0 };
  const refuse = (place: Place, problem: string) => {
    if (strict) throw new BadRow(place, problem);
    result.refused += 1;
    onProblem?.(place, problem);
  };
  const onWritten = ({
    added,
    changed,
    unchanged,
  }: Pick<ChurchImport, "added" | "changed" | "unchanged">) => {
    result.added += added;
    result.changed += changed;
    result.unchanged += unchanged;
  };
  const known = Object.keys(CHURCH_COLUMNS);
  let columns = known;
  const rows = readChurches(source, format, (header) => {
    columns = known.filter((column) => header.includes(column));
    for (const column of ["church_id", "name"]) {
      if (!columns.includes(column)) throw new SourceError(`it has no column ${column}`);
    }
    const twice = columns.find((column) => header.indexOf(column) !== header.lastIndexOf(column));
    if (twice) throw new SourceError(`it has the column ${twice} twice`);
    const unknown = header.filter((name) => !known.includes(name));
    if (unknown.length > 0) onUnknownColumns?.(unknown);
  });
  const convert = new RowConverter(await countryCodes(pool));
  const defaults = await columnDefaults(pool);
  const lanes: Lane[] = [];
  let failed = false;
  try {
    for await (const row of rows) {
      if (lanes.length === 0) {
        for (let i = 0; i < (strict ? 1 : LANES); i++) {
          lanes.push(await Lane.open(pool, columns, { defaults, strict, onWritten, refuse, onProgress }));
        }
      }
      result.read += 1;
      if ("problem" in row) {
        refuse(row.place, row.problem);
        continue;
      }
      const converted = convert.row(row, columns);
      if (typeof converted === "string") refuse(row.place, converted);
      // All rows of one church take the same lane, so that the last one wins.
      else await lanes[laneOf(converted.id, lanes.length)]!.add(converted);
    }
    for (const lane of lanes) await lane.finish();
  } catch (error) {
    failed = true;
    throw error;
  } finally {
    source.destroy();
    for (const lane of lanes) await lane.close(failed);
  }
  await pool.query("select app_private.note_administration('churches', 'import', $1)", [
    JSON.stringify(result),
  ]);
  return result;
}

function laneOf(id: string, lanes: number): number {
  let sum = 0;
  for (let i = 0; i < id.length; i++) sum = (sum + id.charCodeAt(i)) | 0;
  return Math.abs(sum) % lanes;
}

async function countryCodes(pool: pg.Pool): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ alpha2: string; alpha3: string }>(
    "select alpha2, alpha3 from app_public.countries",
  );
  return new Map(
    rows.flatMap(({ alpha2, alpha3 }) => [[alpha2, alpha2] as const, [alpha3, alpha2] as const]),
  );
}

/** The defaults that replace null in columns that always have a value. */
async function columnDefaults(pool: pg.Pool): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ name: string; value: string }>(
    `select a.attname as name, pg_get_expr(d.adbin, d.adrelid) as value
     from pg_attrdef as d join pg_attribute as a on a.attrelid = d.adrelid and a.attnum = d.adnum
     where d.adrelid = 'app_public.churches'::regclass and a.attnotnull`,
  );
  return new Map(rows.map(({ name, value }) => [name, value]));
}
