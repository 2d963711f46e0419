// Reads queries from outside. The parser takes time with the square of some texts: 64 KiB of the worst keep it for more than a
// minute. What is short is read at once; a longer text in a thread, which can be ended.
import { MessageChannel } from "node:worker_threads";
import { Piscina } from "piscina";
import { guardQuery, QueryRefused } from "../../graph/sparql-guard.ts";
import type { GuardedQuery } from "../../graph/sparql-guard.ts";
import { ApiError } from "../errors.ts";
import { CallerGone } from "../postgres/unavailable.ts";
import { halfOf, Shares } from "../shares.ts";
import type { Read, Reading } from "./reading-thread.ts";

/**
 * In milliseconds: shorter than others wait, who would be refused otherwise while two callers send such texts. What somebody means
 * takes a tenth of it. A thread that has to start first, which takes as long and seconds on a busy machine, is not the text's doing.
 */
const READING_MS = 4_000;
/** In characters: the worst such text takes a few milliseconds. */
const SHORT = 500;
/** One for each caller, and one for the others. */
const THREADS = 2;
/** They start with the first longer text, and end when none comes any more. */
const IDLE_MS = 60_000;
const HEAP_MB = 256;

export type ReaderOptions = {
  /** how long a text may take to read, in milliseconds; 4,000 unless given */
  readingMs?: number | undefined;
  /** how long one waits to be read before it is refused, in milliseconds */
  waitMs: number;
  /** how many wait at most, of one caller and in all */
  waiting: { perCaller: number; all: number };
};

/** Who is asking, and whether they still want to know. */
type Asking = { caller: string; gone: AbortSignal };

/** Decides what may be run, without keeping others waiting. */
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
    // Also for a caller who hangs up: whoever did so again and again would have a thread end each time, and another start, which
    // takes longer than to read most texts.
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
