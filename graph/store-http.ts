// One exchange with a SPARQL engine over HTTP: kept-alive connections, one deadline, every failure a typed error.
import * as http from "node:http";
import * as https from "node:https";
import { pipeline, Readable } from "node:stream";
import { WholeBody } from "./store-body.ts";
import { WithheldEnd } from "./store-upload.ts";
import { mediaType } from "./media-types.ts";
import {
  GraphNotFound,
  GraphRejected,
  GraphTimeout,
  GraphUnavailable,
  type Position,
} from "./store-errors.ts";

export interface StoreRequest {
  method: "GET" | "POST" | "PUT" | "DELETE";
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | Readable;
  signal?: AbortSignal;
  /** for the whole exchange, its body included, in milliseconds */
  timeoutMs: number;
}

/** A successful answer (2xx). Its body fails with a typed error when it does not arrive whole. */
export interface StoreResponse {
  status: number;
  contentType: string;
  body: Readable;
}

export interface Transport {
  send(request: StoreRequest): Promise<StoreResponse>;
  close(): void;
}

// Below the idle timeouts of common servers, so that it is we who close an idle connection.
const IDLE_CONNECTION_MS = 10_000;
const LONGEST_ERROR_TEXT = 8_192;
// What an engine answers when the data or the text is at fault; anything else is the operator's or the network's.
const REJECTIONS = new Set([400, 406, 413, 415, 422]);

/** Connections to one engine. `user` and `password` are sent as basic authentication. */
export function createTransport(credentials: { user?: string; password?: string }): Transport {
  const agents = {
    "http:": new http.Agent({ keepAlive: true, timeout: IDLE_CONNECTION_MS, scheduling: "lifo" }),
    "https:": new https.Agent({ keepAlive: true, timeout: IDLE_CONNECTION_MS, scheduling: "lifo" }),
  };
  const authorization = credentials.user
    ? `Basic ${Buffer.from(`${credentials.user}:${credentials.password ?? ""}`).toString("base64")}`
    : undefined;

  function attempt(request: StoreRequest): Promise<StoreResponse> {
    return exchange(request, agents, authorization);
  }

  return {
    async send(request) {
      try {
        return await attempt(request);
      } catch (error) {
        // A kept-alive connection that the store closed meanwhile; only what changes nothing is sent twice.
        if (!(error instanceof StaleConnection) || !isRepeatable(request)) throw error;
        return attempt(request);
      }
    },
    close() {
      agents["http:"].destroy();
      agents["https:"].destroy();
    },
  };
}

class StaleConnection extends GraphUnavailable {}

function isRepeatable(request: StoreRequest): boolean {
  if (request.body instanceof Readable) return false;
  return request.method === "GET" || request.headers["content-type"] === "application/sparql-query";
}

function exchange(
  request: StoreRequest,
  agents: { "http:": http.Agent; "https:": https.Agent },
  authorization: string | undefined,
): Promise<StoreResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<StoreResponse>();
  const { signal, timeoutMs } = request;
  if (signal?.aborted) return Promise.reject(abortReason(signal));
  const url = new URL(request.url);
  const secure = url.protocol === "https:";
  const outgoing = (secure ? https : http).request(url, {
    method: request.method,
    agent: secure ? agents["https:"] : agents["http:"],
    headers: authorization ? { ...request.headers, authorization } : request.headers,
  });
  let fail: (error: Error) => void = (error) => {
    reject(error);
    outgoing.destroy();
  };
  const timer = setTimeout(
    () => fail(new GraphTimeout(`The graph store gave no answer in ${timeoutMs} ms.`)),
    timeoutMs,
  );
  const onAbort = () => fail(abortReason(signal));
  signal?.addEventListener("abort", onAbort, { once: true });
  const settle = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  };

  outgoing.on("error", (error: NodeJS.ErrnoException) => {
    settle();
    const stale = outgoing.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
    fail(
      new (stale ? StaleConnection : GraphUnavailable)("The graph store cannot be reached.", {
        cause: error,
      }),
    );
  });
  outgoing.on("response", (incoming) => {
    const status = incoming.statusCode ?? 0;
    const contentType = incoming.headers["content-type"] ?? "";
    const body = new WholeBody(mediaType(contentType));
    fail = (error) => body.destroy(error);
    // Kept by the stream for whoever reads it; it may come before anybody does.
    body.on("error", () => undefined);
    incoming.on("error", (error) => body.destroy(unfinished(error)));
    // Ends the connection to the store when whoever reads the body gives up.
    body.on("close", () => {
      settle();
      if (!incoming.complete) incoming.destroy();
    });
    incoming.pipe(body);
    if (status >= 200 && status < 300) resolve({ status, contentType, body });
    else readAll(body, LONGEST_ERROR_TEXT).then((text) => reject(failureOf(status, text)), reject);
  });
  send(outgoing, request.body, (error) => fail(error));
  return promise;
}

function send(outgoing: http.ClientRequest, body: StoreRequest["body"], fail: (error: Error) => void): void {
  if (!(body instanceof Readable)) {
    outgoing.end(body);
    return;
  }
  pipeline(body, new WithheldEnd(), outgoing, (error) => {
    // The body's own failure is the caller's to see; the connection's is reported by the request itself.
    if (error && body.errored) fail(body.errored);
  });
}

/** The whole text of a body, cut at `limit` bytes when one is given. */
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
  return new GraphUnavailable(`The graph store answered ${status}${message ? `: ${message}` : "."}`);
}

// "line 1, column 18" (Jena), "at 1:28" and "at line 1 between columns 23" (Oxigraph), "line 1, col 4" (RIOT).
function positionIn(text: string): Position | undefined {
  const found =
    /line:? ?(\d+),? ?(?:between )?col(?:umns?)?:? ?(\d+)/i.exec(text) ?? /\bat (\d+):(\d+)/.exec(text);
  return found ? { line: Number(found[1]), column: Number(found[2]) } : undefined;
}
