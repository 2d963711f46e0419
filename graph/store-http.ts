// The HTTP transport under the SPARQL client: kept-alive connections, one deadline,
// every failure a typed error.
import { PassThrough, pipeline, Readable } from "node:stream";
import { Agent, request, type Dispatcher } from "undici";
import { WholeBody } from "./store-body.ts";
import { mediaType } from "./media-types.ts";
import {
  GraphFailed,
  GraphNotFound,
  GraphRejected,
  GraphTimeout,
  GraphTooExpensive,
  GraphUnavailable,
  GraphUnreachable,
  type Position,
} from "./store-errors.ts";

/** A successful answer (2xx). Its body fails with a typed error when it does not arrive whole. */
export interface StoreResponse {
  status: number;
  contentType: string;
  body: Readable;
}

interface StoreRequest {
  method: Dispatcher.HttpMethod;
  headers: Record<string, string> | Headers;
  body?: string | Readable;
}

interface Conditions {
  signal?: AbortSignal;
  /** for the whole exchange, including its body, in milliseconds */
  timeoutMs: number;
  /** whether the request is idempotent */
  repeatable: boolean;
  place?: TakesPlace;
}

/** Takes a slot for a request. @returns a function that gives it back */
export type TakesPlace = (gone: AbortSignal | undefined) => Promise<() => void>;

/** One request and its answer. */
interface Exchange {
  answer: Promise<StoreResponse>;
  /**
   * resolves when nothing more will be received, with the milliseconds for which the store
   * may still work on the request
   */
  over: Promise<number>;
}

interface Transport {
  /** Like `fetch`, except that the body of the answer is a Node stream. */
  send(url: string | URL, request: StoreRequest, conditions: Conditions): Promise<StoreResponse>;
  close(): void;
}

// Below the idle timeouts of common servers, so that we are the ones to close an idle connection.
const IDLE_CONNECTION_MS = 10_000;
// Far more than an engine works on at once; a flood of queries must not use up the file descriptors.
const MAX_CONNECTIONS = 256;
const STALE_WITHIN_MS = 200;
/** How long an engine takes to end a query that it was told to end. */
const ENDING_MS = 1_000;
const LONGEST_ERROR_TEXT = 8_192;
// The statuses of an engine that blames the data or the query; anything else is up to
// the operator or the network.
const REJECTIONS = new Set([400, 406, 413, 415, 422]);
/** A header of every answer from Fuseki. */
const FUSEKI = "fuseki-request-id";
const CONNECTION_LOST = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** Connections to one engine. `user` and `password` are sent as basic authentication. */
export function createTransport({
  endsWhenLeft = false,
  ...credentials
}: {
  user?: string;
  password?: string;
  endsWhenLeft?: boolean;
}): Transport {
  const agent = new Agent({
    connections: MAX_CONNECTIONS,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    keepAliveMaxTimeout: IDLE_CONNECTION_MS,
    // Each exchange has a deadline of its own. Only connecting keeps undici's limit of ten seconds: a store
    // that takes longer is out of reach rather than slow.
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });
  // The client library knows basic authentication too, but fails on a password beyond Latin-1.
  const authorization = credentials.user ? basic(credentials.user, credentials.password ?? "") : undefined;

  function attempt(
    url: string | URL,
    { method, body, ...rest }: StoreRequest,
    conditions: Conditions,
  ): Exchange {
    const headers = new Headers(rest.headers);
    const credential = authorization ?? fromUrl(new URL(url));
    if (credential) headers.set("authorization", credential);
    const isFollowed = conditions.place !== undefined && !endsWhenLeft;
    return exchange(agent, url, { method, headers, body }, { ...conditions, isFollowed });
  }

  return {
    async send(url, outgoing, conditions) {
      const giveBack = await taken(conditions);
      const start = performance.now();
      let current = attempt(url, outgoing, conditions);
      try {
        return await current.answer;
      } catch (error) {
        const spent = performance.now() - start;
        // A kept-alive connection that the store has closed meanwhile fails at once. undici does not say
        // whether it was one, but a later failure was caused by the request itself.
        if (!(error instanceof ConnectionLost) || !conditions.repeatable || spent > STALE_WITHIN_MS)
          throw error;
        current = attempt(url, outgoing, { ...conditions, timeoutMs: conditions.timeoutMs - spent });
        return await current.answer;
      } finally {
        if (giveBack)
          void current.over.then((ms) => (ms > 0 ? setTimeout(giveBack, ms).unref() : giveBack()));
      }
    },
    close: () => void agent.destroy(),
  };
}

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

async function taken({ place, signal }: Conditions): Promise<(() => void) | undefined> {
  try {
    return await place?.(signal);
  } catch (error) {
    throw signal?.aborted ? abortReason(signal) : error;
  }
}

/** The credentials in a URL, which undici ignores. */
function fromUrl({ username, password }: URL): string | undefined {
  return username ? basic(decodeURIComponent(username), decodeURIComponent(password)) : undefined;
}

/** How many bytes are read of an answer that nobody waits for, to learn when the store has ended it. */
const MOST_UNREAD = 20_000_000;
/** For how many times its timeout such an answer is read: at a trickle, it could go on for weeks. */
const UNREAD_TIMES = 10;

class ConnectionLost extends GraphUnreachable {}

/**
 * @param isFollowed whether the request stays open after its caller has left, until the store has answered it
 */
function exchange(
  agent: Agent,
  url: string | URL,
  { method, headers, body: outgoing }: StoreRequest,
  { signal, timeoutMs, isFollowed }: Conditions & { isFollowed: boolean },
): Exchange {
  if (signal?.aborted) return { answer: Promise.reject(abortReason(signal)), over: Promise.resolve(0) };
  const { promise: answer, resolve, reject } = Promise.withResolvers<StoreResponse>();
  const { promise: over, resolve: isOver } = Promise.withResolvers<number>();
  const limit = performance.now() + timeoutMs + ENDING_MS;
  // A closed connection does not show that the store is done: a proxy may have closed it.
  const isLost = () => isOver(Math.max(0, limit - performance.now()));
  const given = new AbortController();
  let fail: (error: Error) => void = reject;
  let hasLeft = false;
  const timer = setTimeout(
    () => giveUp(new GraphTimeout(`The graph store gave no answer within ${timeoutMs} ms.`)),
    timeoutMs,
  );
  const onAbort = () => giveUp(abortReason(signal));
  signal?.addEventListener("abort", onAbort, { once: true });
  function settle(): void {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
  function giveUp(error: Error): void {
    settle();
    // Not left to undici, which does not report the abort of a request that is
    // still waiting for a connection.
    fail(error);
    hasLeft = true;
    if (isFollowed) return;
    isOver(ENDING_MS);
    given.abort(error);
  }

  const receive = ({ statusCode: status, headers, body: incoming }: Dispatcher.ResponseData) => {
    const contentType = String(headers["content-type"] ?? "");
    const body = new WholeBody(mediaType(contentType), FUSEKI in headers);
    fail = (error) => body.destroy(error);
    incoming.once("end", () => isOver(0));
    // The stream keeps the error for its reader, who may come later.
    body.on("error", () => undefined);
    incoming.once("close", isLost);
    incoming.on("error", (error) => body.destroy(unfinished(error)));
    body.on("close", () => {
      settle();
      if (isFollowed) {
        // Keep reading: an engine whose output is not read ends late, or never.
        incoming.unpipe(body);
        if (!incoming.closed) {
          const endless = setTimeout(() => incoming.destroy(), UNREAD_TIMES * timeoutMs).unref();
          incoming.once("close", () => clearTimeout(endless));
        }
        let unread = 0;
        incoming.on("data", ({ length }: Buffer) => {
          unread += length;
          // The engine is writing, so it notices the closed connection at its next line, and ends.
          if (unread > MOST_UNREAD) incoming.destroy();
        });
        incoming.resume();
      } else {
        // Ends the connection to the store when the reader of the body gives up.
        isOver(incoming.readableEnded ? 0 : ENDING_MS);
        incoming.destroy();
      }
    });
    incoming.pipe(body);
    const encoding = String(headers["content-encoding"] ?? "")
      .trim()
      .toLowerCase();
    const isCompressed = encoding !== "" && encoding !== "identity" && status !== 204;
    const hasSucceeded = status >= 200 && status < 300;
    if (hasLeft) body.destroy();
    else if (hasSucceeded && isCompressed) {
      body.destroy();
      // No compression was requested, and no reader of the body would know of it.
      reject(new GraphUnavailable(`The graph store's answer is compressed (${encoding}).`));
    } else if (hasSucceeded) resolve({ status, contentType, body });
    else readAll(body, LONGEST_ERROR_TEXT).then((text) => reject(failureOf(status, text)), reject);
  };
  request(url, {
    dispatcher: agent,
    method,
    headers,
    body: outgoing instanceof Readable ? passedOn(outgoing, giveUp) : outgoing,
    signal: given.signal,
  }).then(receive, (error: Error) => {
    settle();
    if (hasNotConnected(error)) isOver(0);
    else isLost();
    reject(unreachable(error));
  });
  return { answer, over };
}

/**
 * Wraps a stream to be sent. Its own failure goes to the caller, while the request
 * reports failures of the connection.
 */
function passedOn(source: Readable, onFailure: (error: Error) => void): Readable {
  const upload = new PassThrough();
  source.once("error", (error) => {
    if (!upload.destroyed) onFailure(error);
  });
  return pipeline(source, upload, () => undefined);
}

/** The whole text of a body, cut off at `limit` bytes if one is given. */
export async function readAll(body: Readable, limit = Number.POSITIVE_INFINITY): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limit) break;
  }
  return Buffer.concat(chunks).toString("utf8", 0, Math.min(length, limit));
}

function unreachable(cause: Error): GraphUnreachable {
  return new (CONNECTION_LOST.has(codeOf(cause)) ? ConnectionLost : GraphUnreachable)(
    "The graph store cannot be reached.",
    { cause },
  );
}

/** Whether nothing can have been sent, because the host was not found or not reached. */
function hasNotConnected(error: Error): boolean {
  const isByCall = "syscall" in error && ["connect", "getaddrinfo"].includes(String(error.syscall));
  return isByCall || codeOf(error) === "UND_ERR_CONNECT_TIMEOUT";
}

function codeOf({ code = "" }: NodeJS.ErrnoException): string {
  return code;
}

function unfinished(cause: Error): GraphUnavailable {
  return new GraphUnavailable("The graph store broke off its answer.", { cause });
}

function abortReason(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error
    ? signal.reason
    : new DOMException("The request was aborted.", "AbortError");
}

function failureOf(status: number, text: string): Error {
  const message = /^\s*</.test(text) ? "" : text.trim().split("\n", 1)[0]?.slice(0, 500);
  // 507, "Insufficient Storage": the embedded store's engine ran out of memory over this one request.
  if (status === 507)
    return new GraphTooExpensive(status, message || "The request is too much for the store.");
  if (REJECTIONS.has(status)) {
    return new GraphRejected(status, message || "The graph store refused the request.", positionIn(text));
  }
  // Fuseki reports its own time limit as a plain 503; the text is the only sign.
  if (status === 408 || status === 504 || (status === 503 && /tim(ed|e) ?out/i.test(text))) {
    return new GraphTimeout("The graph store ended the request at its own time limit.");
  }
  if (status === 401 || status === 403) {
    return new GraphUnavailable(`The graph store answered ${status}: check FUSEKI_USER and FUSEKI_PASSWORD.`);
  }
  if (status === 404) return new GraphNotFound("The graph store answered 404: check FUSEKI_URL.");
  const said = `The graph store answered ${status}${message ? `: ${message}` : "."}`;
  return status === 500 ? new GraphFailed(said) : new GraphUnavailable(said);
}

// "line 1, column 18" (Jena), "line 1, col 4" (RIOT), "at 1:28" and "at line 1
// between columns 23" (Oxigraph).
function positionIn(text: string): Position | undefined {
  const found =
    /line:? ?(\d+),? ?(?:between )?col(?:umns?)?:? ?(\d+)/i.exec(text) ?? /\bat (\d+):(\d+)/.exec(text);
  return found ? { line: Number(found[1]), column: Number(found[2]) } : undefined;
}
