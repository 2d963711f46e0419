// Imports churches: the rows of a file, checked one by one, go through COPY into a staging table, and from there into
// the table by church_id.
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { CHURCH_COLUMNS } from "./columns.ts";
import { conversionOf, ValueError } from "./conversions.ts";
import type { Conversion } from "./conversions.ts";
import { readChurches, SourceError } from "./read.ts";
import type { ChurchFormat, Place, SourceRow } from "./read.ts";

const BATCH = 10_000;
// Each connection keeps one core of the database busy.
const LANES = 2;

type ChurchImportOptions = {
  format: ChurchFormat;
  /** All or nothing: stops at the first bad row. */
  strict?: boolean;
  /** Called for each row that was left out. */
  onProblem?: (place: Place, problem: string) => void;
  /** Called with the columns that no church has; their values are left out. */
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
  const known = Object.keys(CHURCH_COLUMNS);
  let columns = known;
  const rows = readChurches(source, format, (header) => {
    columns = known.filter((column) => header.includes(column));
    for (const column of ["church_id", "name"]) {
      if (!columns.includes(column)) throw new SourceError(`it has no column ${column}`);
    }
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
          lanes.push(await Lane.open(pool, columns, { defaults, strict, result, refuse, onProgress }));
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
  return result;
}

type Converted = { id: string; place: Place; copy: string };

class RowConverter {
  readonly #conversions: ReadonlyMap<string, Conversion>;

  constructor(countries: ReadonlyMap<string, string>) {
    this.#conversions = new Map(
      Object.entries(CHURCH_COLUMNS).map(([name, column]) => [name, conversionOf(column, countries)]),
    );
  }

  /** The line for COPY, or what is wrong with the row. */
  row(row: Extract<SourceRow, { values: unknown }>, columns: readonly string[]): Converted | string {
    const { values, place } = row;
    const cells: string[] = [];
    let id: string | null = null;
    let named = false;
    const placed: Record<string, boolean> = {};
    for (const column of columns) {
      let text: string | null;
      try {
        text = this.#conversions.get(column)!(values[column]);
      } catch (error) {
        if (error instanceof ValueError) return `${column} ${error.message}`;
        throw error;
      }
      if (column === "church_id") id = text;
      else if (column === "name") named = text !== null;
      else if (column === "latitude" || column === "longitude") placed[column] = text !== null;
      cells.push(text === null ? "\\N" : escaped(text));
    }
    if (id === null) return "church_id is missing";
    if (!named) return "name is missing";
    if (placed["latitude"] !== placed["longitude"]) return "latitude and longitude must be given together";
    return { id, place, copy: `${cells.join("\t")}\n` };
  }
}

const SPECIAL = /[\\\t\n\r]/;

function escaped(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text
    .replaceAll("\\", String.raw`\\`)
    .replaceAll("\t", String.raw`\t`)
    .replaceAll("\n", String.raw`\n`)
    .replaceAll("\r", String.raw`\r`);
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

/** What replaces null in the columns that always have a value. */
async function columnDefaults(pool: pg.Pool): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ name: string; value: string }>(
    `select a.attname as name, pg_get_expr(d.adbin, d.adrelid) as value
     from pg_attrdef as d join pg_attribute as a on a.attrelid = d.adrelid and a.attnum = d.adnum
     where d.adrelid = 'app_public.churches'::regclass and a.attnotnull`,
  );
  return new Map(rows.map(({ name, value }) => [name, value]));
}

type LaneParts = {
  defaults: ReadonlyMap<string, string>;
  strict: boolean;
  result: ChurchImport;
  refuse: (place: Place, problem: string) => void;
  onProgress: ((rows: number) => void) | undefined;
};

/** One connection, which writes one batch while the next is read. */
class Lane {
  readonly #client: pg.PoolClient;
  readonly #columns: readonly string[];
  readonly #parts: LaneParts;
  #batch = new Map<string, Converted>();
  #rows = 0;
  #writing: Promise<void> = Promise.resolve();

  static async open(pool: pg.Pool, columns: readonly string[], parts: LaneParts): Promise<Lane> {
    const client = await pool.connect();
    const lane = new Lane(client, columns, parts);
    await client.query(
      `create temporary table if not exists incoming_churches as
         select * from app_public.churches with no data`,
    );
    await client.query("truncate incoming_churches");
    if (parts.strict) await client.query("begin");
    return lane;
  }

  constructor(client: pg.PoolClient, columns: readonly string[], parts: LaneParts) {
    this.#client = client;
    this.#columns = columns;
    this.#parts = parts;
  }

  async add(row: Converted): Promise<void> {
    this.#batch.set(row.id, row);
    this.#rows += 1;
    if (this.#batch.size >= BATCH) await this.#flush();
  }

  async finish(): Promise<void> {
    await this.#flush();
    await this.#writing;
    if (this.#parts.strict) await this.#client.query("commit");
  }

  async close(failed: boolean): Promise<void> {
    await this.#writing.catch(() => undefined);
    // A failed session must not be reused; ending it rolls its transaction back.
    if (!failed) await this.#client.query("drop table incoming_churches");
    this.#client.release(failed);
  }

  async #flush(): Promise<void> {
    const [rows, count] = [[...this.#batch.values()], this.#rows];
    this.#batch = new Map();
    this.#rows = 0;
    await this.#writing;
    this.#writing = this.#write(rows).then(() => this.#parts.onProgress?.(count));
    // It is awaited before the next batch; until then a failure must not count as an unhandled rejection.
    this.#writing.catch(() => undefined);
  }

  async #write(rows: readonly Converted[], again = 3): Promise<void> {
    if (rows.length === 0) return;
    const { defaults, strict, result, refuse } = this.#parts;
    const client = this.#client;
    try {
      await client.query(strict ? "savepoint batch" : "begin");
      await pipeline(
        [rows.map((row) => row.copy).join("")],
        client.query(copyFrom(copyStatement(this.#columns))),
      );
      const { rows: written } = await client.query<{ inserted: boolean; count: number }>(
        upsertStatement(this.#columns, defaults),
      );
      await client.query("truncate incoming_churches");
      if (!strict) await client.query("commit");
      const count = (inserted: boolean) => written.find((row) => row.inserted === inserted)?.count ?? 0;
      result.added += count(true);
      result.changed += count(false);
      result.unchanged += rows.length - count(true) - count(false);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      await client.query(strict ? "rollback to savepoint batch" : "rollback");
      const state = error.code ?? "";
      // Two simultaneous imports may have deadlocked; the one that PostgreSQL stopped tries again.
      if (state.startsWith("40") && again > 0) return this.#write(rows, again - 1);
      if (!/^2[23]/.test(state)) throw error;
      if (rows.length === 1) return refuse(rows[0]!.place, error.message);
      const middle = rows.length >> 1;
      await this.#write(rows.slice(0, middle));
      await this.#write(rows.slice(middle));
    }
  }
}

function copyStatement(columns: readonly string[]): string {
  return `copy incoming_churches (${columns.join(", ")}) from stdin`;
}

/** In order of the ids, so that simultaneous imports wait for one another and never deadlock. */
function upsertStatement(columns: readonly string[], defaults: ReadonlyMap<string, string>): string {
  const insertable = columns.map((column) =>
    defaults.has(column) ? `coalesce(${column}, ${defaults.get(column)})` : column,
  );
  const changing = columns.filter((column) => !["church_id", "created_at", "updated_at"].includes(column));
  const stamped = columns.includes("updated_at");
  return `
    with written as (
      insert into app_public.churches as c (${columns.join(", ")})
      select ${insertable.join(", ")} from incoming_churches order by church_id
      on conflict (church_id) do update set
        ${changing.map((column) => `${column} = excluded.${column}`).join(", ")},
        updated_at = ${stamped ? "excluded.updated_at" : "now()"}
      where (${changing.map((column) => `c.${column}`).join(", ")})
        is distinct from (${changing.map((column) => `excluded.${column}`).join(", ")})
      returning c.xmax = 0 as inserted
    )
    select inserted, count(*)::integer as count from written group by inserted`;
}
