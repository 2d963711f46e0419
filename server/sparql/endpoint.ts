// Graph queries, for the door and the page: what may be asked, whose turn it is, how failures are reported.
import type { Readable } from "node:stream";
import { ALIASES, RESULTS_JSON } from "../../graph/media-types.ts";
import { MOST_DESCRIBED } from "../../graph/sparql-endable.ts";
import { QueryRefused } from "../../graph/sparql-guard.ts";
import type { GuardedQuery } from "../../graph/sparql-guard.ts";
import {
  GraphFailed,
  GraphRejected,
  GraphTimeout,
  GraphTooExpensive,
  GraphUnavailable,
} from "../../graph/store.ts";
import type { GraphStore } from "../../graph/store.ts";
import { readAll } from "../../graph/store-http.ts";
import { ApiError } from "../errors.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import { halfOf, Shares } from "../shares.ts";
import { QueryReader } from "./reader.ts";

export type SparqlOptions = {
  store: Pick<GraphStore, "query">;
  /** what the service description lists */
  namedGraphs: readonly string[];
  /** for one query, including its answer, in milliseconds */
  timeoutMs: number;
  /** queries that may run at the same time, half of them for one caller */
  concurrency: number;
  /** how long a query waits to run before it is refused, in milliseconds; 5,000 unless given */
  waitMs?: number;
  /** how long a text may take to read, in milliseconds; 4,000 unless given */
  readingMs?: number;
  /** the longest query, in bytes; 64 KiB unless given */
  maxBytes?: number;
  /** called with what an operator should know */
  warn?: (message: string) => void;
};

/** How a query is to be answered. */
type Wanted = {
  /** one of BINDING_TYPES, GRAPH_TYPES or ALIASES */
  type: string;
  /** the caller whose share it uses */
  caller: string;
  /** aborted when nobody waits for the answer any more */
  gone: AbortSignal;
  defaultGraphs?: readonly string[];
  namedGraphs?: readonly string[];
};

const WAITING_PER_KEY = 8;
const WAITING = 200;
const WAIT_MS = 5_000;
const SLOW_MS = 1_000;
/** How long after its timeout the store may go on with a query before the operator is told. */
const OVERDUE_MS = 10_000;
const OVERDUE =
  "the graph store still runs a query past its timeout; it holds its slot until the store ends it or is restarted";
const TOO_MUCH_TO_DESCRIBE = `This DESCRIBE finds more than can be described at once, ${MOST_DESCRIBED.toLocaleString("en")} resources; give it a smaller LIMIT.`;
const MAX_BYTES = 64 * 1024;
const RETRY_AFTER_SECONDS = "5";

/** Answers queries, for the door and for the page. */
export class SparqlEndpoint {
  readonly namedGraphs: readonly string[];
  readonly maxBytes: number;
  readonly #store: Pick<GraphStore, "query">;
  readonly #timeoutMs: number;
  readonly #warn: SparqlOptions["warn"];
  readonly #shares: Shares;
  readonly #reader: QueryReader;

  constructor({
    store,
    namedGraphs,
    timeoutMs,
    concurrency,
    waitMs = WAIT_MS,
    readingMs,
    maxBytes = MAX_BYTES,
    warn,
  }: SparqlOptions) {
    this.namedGraphs = namedGraphs;
    this.maxBytes = maxBytes;
    this.#store = store;
    this.#timeoutMs = timeoutMs;
    this.#warn = warn;
    const waiting = { perCaller: WAITING_PER_KEY, all: WAITING };
    this.#reader = new QueryReader({ readingMs, waitMs, waiting });
    this.#shares = new Shares({
      slots: concurrency,
      perCaller: halfOf(concurrency),
      slowMs: SLOW_MS,
      patienceMs: waitMs,
      queuePerCaller: WAITING_PER_KEY,
      queue: WAITING,
    });
  }

  /** Slots in use, including those of queries whose callers have left, and queries that wait for one. */
  get usage(): { used: number; waiting: number } {
    return this.#shares.usage;
  }

  /** Whether another caller could go on if this one released a slot. */
  isInTheWay(caller: string): boolean {
    return this.#shares.isWantedBesides(caller);
  }

  /**
   * Checks a query, and returns it in the form in which it may be run.
   * @throws ApiError 400 malformed_query, 403 read_only or federation_disabled, 504 query_timeout;
   * CallerGone, ServiceBusy
   */
  async guard(text: string, asking: Pick<Wanted, "caller" | "gone">): Promise<GuardedQuery> {
    try {
      return await this.#reader.read(text, asking);
    } catch (error) {
      if (!(error instanceof QueryRefused)) throw error;
      if (error.reason === "update") throw new ApiError("read_only");
      if (error.reason === "federation") throw new ApiError("federation_disabled");
      throw malformed(error.message, error.position);
    }
  }

  /**
   * Begins to answer a query.
   * @returns the answer, once its beginning is there; a later failure breaks it off
   * @throws ApiError; any other error, once the caller has gone
   */
  async run({ text, endable, excess }: GuardedQuery, { type, ...asking }: Wanted): Promise<Readable> {
    const end = performance.now() + this.#timeoutMs;
    try {
      if (excess !== undefined && (await this.#finds(excess, asking)))
        throw new ApiError("query_too_expensive", { message: TOO_MUCH_TO_DESCRIBE });
      // The check before it is part of the query's time.
      const timeoutMs = excess === undefined ? this.#timeoutMs : Math.max(1, end - performance.now());
      const body = await this.#ask(text, { ...asking, type: ALIASES.get(type) ?? type, endable, timeoutMs });
      await firstBytes(body);
      return body;
    } catch (error) {
      throw failure(error);
    }
  }

  async #ask(
    text: string,
    { type, caller, gone, ...more }: Wanted & Pick<GuardedQuery, "endable"> & { timeoutMs: number },
  ): Promise<Readable> {
    const { body } = await this.#store.query(text, {
      ...more,
      accept: type,
      signal: gone,
      place: (left) => this.#place(caller, left),
    });
    return body;
  }

  async #finds(select: string, asking: Omit<Wanted, "type">): Promise<boolean> {
    const answer = await readAll(
      await this.#ask(select, { ...asking, type: RESULTS_JSON, timeoutMs: this.#timeoutMs }),
    );
    try {
      return (JSON.parse(answer) as { results: { bindings: unknown[] } }).results.bindings.length > 0;
    } catch (cause) {
      throw new GraphUnavailable("The graph store's answer contains no results.", { cause });
    }
  }

  /** Takes a slot, released when the store is done with the query, however long the caller takes to read. */
  async #place(caller: string, gone: AbortSignal | undefined): Promise<() => void> {
    const giveBack = await this.#shares.take(caller, gone);
    const overdue = setTimeout(() => this.#warn?.(OVERDUE), this.#timeoutMs + OVERDUE_MS).unref();
    return () => {
      clearTimeout(overdue);
      giveBack();
    };
  }
}

/** Waits until the store begins to answer; until then its failure can still become an error status. */
function firstBytes(body: Readable): Promise<void> {
  if (body.errored) return Promise.reject(body.errored);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  body.once("error", reject).once("readable", resolve).once("end", resolve);
  return promise;
}

/** A failure of the store, as callers are told of it. */
export function failure(error: unknown): unknown {
  if (error instanceof GraphTimeout) {
    return new ApiError("query_timeout", { cause: error });
  }
  if (error instanceof GraphFailed) return new ApiError("query_failed", { cause: error });
  if (error instanceof GraphUnavailable) {
    return new ApiError("graph_unavailable", {
      cause: error,
      headers: { [RESPONSE_HEADERS.retryAfter]: RETRY_AFTER_SECONDS },
    });
  }
  if (error instanceof GraphRejected && error.status === 406) return new ApiError("not_acceptable");
  if (error instanceof GraphTooExpensive) return new ApiError("query_too_expensive", { cause: error });
  if (error instanceof GraphRejected) return malformed(error.message, error.position);
  return error;
}

function malformed(message: string, position?: { line: number; column: number }): ApiError {
  const details = position && [
    { path: "query", message: `line ${position.line}, column ${position.column}` },
  ];
  return new ApiError("malformed_query", { message, details });
}
