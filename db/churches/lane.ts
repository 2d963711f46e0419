// One connection of an import: COPY into a staging table, and from there into the table by church_id.
import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import type { Place } from "./read.ts";
import type { Converted } from "./row.ts";

const BATCH = 10_000;
/** In characters: rows can be long. */
const LONGEST_BATCH = 2 ** 24;

type LaneParts = {
  defaults: ReadonlyMap<string, string>;
  strict: boolean;
  /** Called with what a batch did, in numbers of churches. */
  onWritten: (counts: { added: number; changed: number; unchanged: number }) => void;
  refuse: (place: Place, problem: string) => void;
  onProgress: ((rows: number) => void) | undefined;
};

/** One connection, which writes one batch while the next is read. */
export class Lane {
  readonly #client: pg.PoolClient;
  readonly #columns: readonly string[];
  readonly #parts: LaneParts;
  #batch = new Map<string, Converted>();
  #rows = 0;
  #length = 0;
  #writing: Promise<void> = Promise.resolve();

  static async open(pool: pg.Pool, columns: readonly string[], parts: LaneParts): Promise<Lane> {
    const client = await pool.connect();
    try {
      await client.query(
        "create temporary table incoming_churches as select * from app_public.churches with no data",
      );
      if (parts.strict) await client.query("begin");
    } catch (error) {
      // No Lane has the client yet, so nothing else would release it.
      client.release(true);
      throw error;
    }
    return new Lane(client, columns, parts);
  }

  constructor(client: pg.PoolClient, columns: readonly string[], parts: LaneParts) {
    this.#client = client;
    this.#columns = columns;
    this.#parts = parts;
  }

  async add(row: Converted): Promise<void> {
    this.#batch.set(row.id, row);
    this.#rows += 1;
    this.#length += row.copy.length;
    if (this.#batch.size >= BATCH || this.#length >= LONGEST_BATCH) await this.#flush();
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
    this.#length = 0;
    await this.#writing;
    this.#writing = this.#write(rows).then(() => this.#parts.onProgress?.(count));
    // It is awaited before the next batch; until then a failure must not count as an unhandled rejection.
    this.#writing.catch(() => undefined);
  }

  async #write(rows: readonly Converted[], again = 3): Promise<void> {
    if (rows.length === 0) return;
    const { defaults, strict, onWritten, refuse } = this.#parts;
    const client = this.#client;
    try {
      await client.query(strict ? "savepoint batch" : "begin");
      await pipeline(
        [rows.map((row) => row.copy).join("")],
        client.query(copyFrom(copyStatement(this.#columns))),
      );
      const { rows: malformed } = await client.query<{ id: string; problems: string }>(TAKE_MALFORMED);
      const { rows: written } = await client.query<{ inserted: boolean; count: number }>(
        upsertStatement(this.#columns, defaults),
      );
      await client.query("truncate incoming_churches");
      if (!strict) await client.query("commit");
      const count = (inserted: boolean) => written.find((row) => row.inserted === inserted)?.count ?? 0;
      const [added, changed] = [count(true), count(false)];
      onWritten({ added, changed, unchanged: rows.length - malformed.length - added - changed });
      const problems = new Map(malformed.map(({ id, problems }) => [id, problems]));
      for (const { id, place } of rows) {
        const problem = problems.get(id);
        if (problem !== undefined) refuse(place, problem);
      }
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      await client.query(strict ? "rollback to savepoint batch" : "rollback");
      const state = error.code ?? "";
      // Two simultaneous imports may have deadlocked; the one that PostgreSQL stopped tries again.
      if (state.startsWith("40") && again > 0) return this.#write(rows, again - 1);
      // Errors that a single row can cause; 54: too long or deeply nested for an index, JSON or text search.
      if (!/^(2[23]|54)/.test(state)) throw error;
      if (rows.length === 1) return refuse(rows[0]!.place, error.message);
      const middle = rows.length >> 1;
      await this.#write(rows.slice(0, middle));
      await this.#write(rows.slice(middle));
    }
  }
}

// The table's trigger would refuse these too, but with them the whole batch, which would have to be halved.
const TAKE_MALFORMED = `
  with malformed as materialized (
    select c.church_id as id, app_private.church_problems(to_jsonb(c)) as found
    from incoming_churches as c
    where app_private.is_suspect_church(c::text, c.name, c.campus_name, c.overarching_name, c.ministries_json)
  ), taken as (
    delete from incoming_churches as c using malformed as m where c.church_id = m.id and m.found <> '[]'
  )
  select m.id, string_agg(format('%s %s', p ->> 'path', p ->> 'message'), '; ') as problems
  from malformed as m, jsonb_array_elements(m.found) as p group by m.id`;

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
