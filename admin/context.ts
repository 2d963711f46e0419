// What the commands of the operator's tool share: configuration, database, graph store, output.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { SingleBar } from "cli-progress";
import type pg from "pg";
import type { Config } from "../config.ts";
import { closePool } from "../db/close.ts";
import { migrate } from "../db/migrate.ts";
import { createOwnerPool } from "../db/pool.ts";
import { requireSession } from "../db/reach.ts";
import { lackingIn } from "../db/release.ts";
import { storeUrls } from "../graph/store.ts";
import { joinEmbeddedPostgres, joinEmbeddedStore } from "../process/embedded.ts";
import { explain } from "../process/explain.ts";
import type { Joined } from "../process/embedded.ts";
import { writeOut } from "./output.ts";

/** The endpoints of a graph store, as in Config. */
export type GraphStoreEndpoints = NonNullable<Config["graphStore"]>;

/** Shows the progress of long work on standard error: a bar on a terminal, plain lines elsewhere. */
export type Progress = {
  /** Counts done items. */
  advance: (count?: number) => void;
  /** Sets the number of items to do, if it only becomes known later. */
  total: (total: number) => void;
  done: () => void;
};

/** A problem that the operator can solve; the message is one line, the exit code 2. */
export class AdminError extends Error {
  override name = "AdminError";
}

/** The exit codes that scripts can rely on. */
export const EXIT = { done: 0, partly: 1, failed: 2 } as const;

/**
 * The context of one command. Database and graph store are opened when first needed, and close() closes what
 * was opened: embedded parts that this command started are stopped, parts that were already running go on.
 */
export class AdminContext {
  readonly config: Config;
  /** Whether standard output carries one JSON value and nothing else. */
  json = false;
  /** The exit code of the process. */
  exitCode: number = EXIT.done;
  #database: Promise<Joined> | undefined;
  #pool: Promise<pg.Pool> | undefined;
  #store: Promise<Joined> | undefined;

  /** Writes to standard output, or throws: a command whose output cannot be written has failed. */
  readonly write: (text: string) => void;

  constructor(config: Config, write = writeOut) {
    this.config = config;
    this.write = write;
  }

  /** URL of the database as the role that owns the schema: DATABASE_URL, or the embedded one. */
  async databaseUrl(): Promise<string> {
    this.#database ??= this.config.databaseUrl
      ? Promise.resolve({ url: this.config.databaseUrl, leave: () => Promise.resolve() })
      : this.#joinEmbedded();
    return (await this.#database).url;
  }

  async #joinEmbedded(): Promise<Joined> {
    const { dataDir } = this.config;
    const isNew = !existsSync(join(dataDir, "postgres"));
    const joined = await joinEmbeddedPostgres(dataDir);
    // In a shell that has lost its environment, an empty database would answer that nothing is stored.
    if (isNew)
      this.note(
        `DATABASE_URL is not set, and no database was in ${dataDir}: this is a new one, which is empty.`,
      );
    return joined;
  }

  /**
   * The same, where a connection keeps its session: a pooler in transaction mode would leave locks to whoever comes next.
   * @throws AdminError
   */
  async sessionUrl(): Promise<string> {
    const url = await this.databaseUrl();
    if (this.config.databaseUrl)
      await requireSession(url).catch((error: unknown) => {
        throw new AdminError(`DATABASE_URL: ${explain(error)}`, { cause: error });
      });
    return url;
  }

  /** A pool of the role that owns the schema; closed by close(). */
  pool(): Promise<pg.Pool> {
    this.#pool ??= this.#openPool();
    return this.#pool;
  }

  async #openPool(): Promise<pg.Pool> {
    const url = await this.sessionUrl();
    const pool = createOwnerPool(url, { max: 4, application_name: "engagement-admin" });
    if (this.config.databaseUrl) return pool;
    // The embedded database may not have been migrated to this version yet, or another process may be doing
    // it: a second migration waits for the first.
    if ((await lackingIn(pool)) !== undefined) await migrate(url);
    return pool;
  }

  /** Runs work in a transaction: if its output cannot be written, nothing is done. */
  async inTransaction(work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
    const client = await (await this.pool()).connect();
    try {
      await client.query("begin");
      await work(client);
      await client.query("commit");
    } finally {
      // Closing the connection rolls back a transaction that is still open.
      client.release(true);
    }
  }

  /** The graph store's endpoints: as configured, or embedded in the running service or in this command. */
  async graphStore(): Promise<GraphStoreEndpoints> {
    const { graphStore, databaseUrl, dataDir } = this.config;
    if (graphStore) return graphStore;
    // Nobody who uses a database of their own means a store that is only made by this.
    if (databaseUrl && !existsSync(join(dataDir, "graph")))
      throw new AdminError(`FUSEKI_URL is not set, and no graph store is in ${dataDir}.`);
    this.#store ??= joinEmbeddedStore(this.config.dataDir, {
      queryTimeoutMs: this.config.sparqlTimeoutMs,
      onWarning: (message) => this.note(message),
    });
    return storeUrls((await this.#store).url);
  }

  /**
   * Prints the result, once per command.
   * @param value what --json prints
   * @param text what a person reads otherwise; several lines as an array
   */
  print(value: unknown, text: string | readonly string[]): void {
    const lines = this.json ? JSON.stringify(value) : [text].flat().join("\n");
    this.write(`${lines}\n`);
  }

  /** Prints a message for a person on standard error, also with --json. */
  note(line: string): void {
    process.stderr.write(`${shown(line)}\n`);
  }

  /** Reports an item that could not be done while the rest goes on; the exit code becomes 1. */
  warn(line: string): void {
    this.note(line);
    this.exitCode = EXIT.partly;
  }

  /** Shows the progress of long work; call done() at its end. */
  progress(label: string, total = 0): Progress {
    return process.stderr.isTTY
      ? barProgress(label, total)
      : lineProgress(label, total, (line) => this.note(line));
  }

  /** Closes what was opened. */
  async close(): Promise<void> {
    const [pool, store, database] = await Promise.allSettled([this.#pool, this.#store, this.#database]);
    this.#pool = this.#store = this.#database = undefined;
    if (pool.status === "fulfilled" && pool.value) await closePool(pool.value);
    if (store.status === "fulfilled") await store.value?.leave();
    if (database.status === "fulfilled") await database.value?.leave();
  }
}

/** Replaces control characters, with which texts from files could move the cursor or control the terminal. */
export function shown(line: string): string {
  return line.replace(/\p{Cc}/gu, "\uFFFD");
}

type Cell = string | number | boolean | null | undefined;

/** Lays rows out in columns under their headings. */
export function table(headings: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const cells = [headings, ...rows].map((row) => row.map((cell) => String(cell ?? "")));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}

function barProgress(label: string, total: number): Progress {
  const bar = new SingleBar({
    format: `${label} {bar} {percentage}% {value}/{total} ETA {eta_formatted}`,
    stream: process.stderr,
    hideCursor: true,
  });
  bar.start(total, 0);
  return {
    advance: (count = 1) => bar.increment(count),
    total: (known) => bar.setTotal(known),
    done: () => bar.stop(),
  };
}

const SECONDS_BETWEEN_LINES = 5;

function lineProgress(label: string, initialTotal: number, write: (line: string) => void): Progress {
  let total = initialTotal;
  let value = 0;
  let lastLine = performance.now();
  const line = () => `${label}: ${value}${total ? ` of ${total}` : ""}`;
  return {
    advance: (count = 1) => {
      value += count;
      if (performance.now() - lastLine < SECONDS_BETWEEN_LINES * 1000) return;
      lastLine = performance.now();
      write(line());
    },
    total: (known) => {
      total = known;
    },
    done: () => write(`${line()}, done`),
  };
}
