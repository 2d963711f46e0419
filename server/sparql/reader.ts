// Parses callers' queries. For some texts the parser takes quadratic time: 64 KiB of the worst take it more
// than a minute. A short text is parsed at once; a longer one in a thread, which can be ended.
import { MessageChannel } from "node:worker_threads";
import { Piscina } from "piscina";
import { guardQuery, QueryRefused } from "../../graph/sparql-guard.ts";
import type { GuardedQuery } from "../../graph/sparql-guard.ts";
import { ApiError } from "../errors.ts";
import { CallerGone } from "../postgres/unavailable.ts";
import { halfOf, Shares } from "../shares.ts";
import type { Read, Reading } from "./reading-thread.ts";

/**
 * In milliseconds. Shorter than others wait, who would otherwise be refused while two callers send such
 * texts. Real queries take a tenth of it. Starting a thread takes as long, and seconds on a busy machine, but
 * does not count.
 */
const READING_MS = 4_000;
/** In characters: the worst such text takes a few milliseconds. */
const SHORT = 500;
/** One for a caller, and one for all others. */
const THREADS = 2;
/** Threads start with the first longer text, and end when none has come for this long. */
const IDLE_MS = 60_000;
const HEAP_MB = 256;

export type ReaderOptions = {
  /** how long a text may take to read, in milliseconds; 4,000 unless given */
  readingMs?: number | undefined;
  /** how long a text waits to be read before it is refused, in milliseconds */
  waitMs: number;
  /** how many texts wait at most, of one caller and in all */
  waiting: { perCaller: number; all: number };
};

/** The caller, and whether it still waits for the answer. */
type Asking = { caller: string; gone: AbortSignal };

/** Decides which queries may be run, without blocking others. */
export class QueryReader {
  readonly #readingMs: number;
  readonly #shares: Shares;
  readonly #threads = new Piscina<Reading, Read>({
    filename: new URL("reading-thread.ts", import.meta.url).href,
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });

  constructor({ readingMs = READING_MS, waitMs, waiting }: ReaderOptions) {
    this.#readingMs = readingMs;
    this.#shares = new Shares({
      slots: THREADS,
      perCaller: halfOf(THREADS),
      slowMs: readingMs,
      patienceMs: waitMs,
      queuePerCaller: waiting.perCaller,
      queue: waiting.all,
    });
  }

  /** @throws QueryRefused; ApiError 504 query_timeout, query_too_expensive; CallerGone, ServiceBusy */
  async read(text: string, asking: Asking): Promise<GuardedQuery> {
    return text.length <= SHORT ? guardQuery(text) : this.#readBeside(text, asking);
  }

  async #readBeside(text: string, { caller, gone }: Asking): Promise<GuardedQuery> {
    const read = await this.#inThread(text, { caller, gone });
    if ("query" in read) return read.query;
    const { reason, message, position } = read.refused;
    throw new QueryRefused(reason, message, position);
  }

  async #inThread(text: string, { caller, gone }: Asking): Promise<Read> {
    const giveBack = await this.#shares.take(caller, gone);
    const late = new AbortController();
    let clock: NodeJS.Timeout | undefined;
    const { port1: begins, port2: began } = new MessageChannel();
    begins.once("message", () => {
      clock = setTimeout(() => late.abort(), this.#readingMs);
    });
    // Not ended if the caller hangs up: doing so again and again would end a thread each time and start
    // another, which takes longer than parsing most texts.
    const reading = this.#threads
      .run({ text, began }, { signal: late.signal, transferList: [began] })
      .finally(() => {
        clearTimeout(clock);
        begins.close();
        giveBack();
      });
    try {
      return await Promise.race([reading, whenGone(gone)]);
    } catch (cause) {
      if (late.signal.aborted) throw new ApiError("query_timeout", { cause });
      throw isOutOfMemory(cause) ? new ApiError("query_too_expensive", { cause }) : cause;
    }
  }
}

function whenGone(gone: AbortSignal): Promise<never> {
  return new Promise((_, refuse) => {
    gone.addEventListener("abort", () => refuse(new CallerGone()), { once: true });
  });
}

const isOutOfMemory = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
