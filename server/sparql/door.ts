// /v0/sparql: queries of the whole graph, from anybody with a key.
import type { Request, RequestHandler, Response } from "express";
import type { Readable } from "node:stream";
import type { Logger } from "pino";
import { ALIASES, BINDING_TYPES, GRAPH_TYPES, negotiate } from "../../graph/media-types.ts";
import { guardQuery, QueryRefused, type GuardedQuery } from "../../graph/sparql-guard.ts";
import {
  GraphRejected,
  GraphTimeout,
  GraphTooExpensive,
  GraphUnavailable,
  type GraphStore,
} from "../../graph/store.ts";
import { withAllowed } from "../door.ts";
import type { Door } from "../door.ts";
import { ApiError } from "../errors.ts";
import { hungUp } from "../hang-up.ts";
import { RESPONSE_HEADERS } from "../headers.ts";
import { Shares } from "../shares.ts";
import { descriptionQuery } from "./description.ts";
import { readSparqlRequest } from "./request.ts";

export type SparqlDependencies = {
  store: GraphStore;
  logger?: Pick<Logger, "warn">;
  /** what the service description lists */
  namedGraphs: readonly string[];
  /** for one query, including its answer, in milliseconds */
  timeoutMs: number;
  /** queries that may run at the same time, half of them of one key */
  concurrency: number;
  /** how long a query waits to run before it is refused, in milliseconds; 5,000 unless given */
  waitMs?: number;
  /** the longest body, in bytes; 64 KiB unless given */
  maxBytes?: number;
};

const PATH = "/v0/sparql";
const METHODS = "GET, HEAD, POST, OPTIONS";
const WAITING_PER_KEY = 8;
const WAITING = 200;
const WAIT_MS = 5_000;
const SLOW_MS = 1_000;
/** How long a store may go on with a query whose caller has left: so long its slot is not lent again. */
const ABANDONED_MS = 1_000;
const MAX_BYTES = 64 * 1024;
const RETRY_AFTER_SECONDS = "5";

/** /v0/sparql, behind a key. It reads its own body: no body parser may come before it. */
export function sparqlDoor(dependencies: SparqlDependencies): Door {
  const { concurrency, waitMs = WAIT_MS, maxBytes = MAX_BYTES } = dependencies;
  const shares = new Shares({
    slots: concurrency,
    // So that there is always one for another key.
    perCaller: Math.max(1, Math.ceil(concurrency / 2)),
    slowMs: SLOW_MS,
    patienceMs: waitMs,
    queuePerCaller: WAITING_PER_KEY,
    queue: WAITING,
  });

  const query: RequestHandler = (request, response) =>
    answer(request, response, { ...dependencies, shares, maxBytes });

  const refuseMethod: RequestHandler = () => {
    throw new ApiError("method_not_allowed", {
      message: "Send queries with GET or POST.",
      headers: { allow: METHODS },
    });
  };

  const allowed = (path: string) => (path === PATH ? METHODS : undefined);
  return withAllowed(allowed, (app, guards) => {
    app.get(PATH, ...guards.key, query);
    app.post(PATH, ...guards.key, query);
    app.all(PATH, ...guards.key, refuseMethod);
  });
}

async function answer(
  request: Request,
  response: Response,
  {
    store,
    logger,
    namedGraphs,
    timeoutMs,
    shares,
    maxBytes,
  }: SparqlDependencies & {
    shares: Shares;
    maxBytes: number;
  },
): Promise<void> {
  const gone = hungUp(response);
  const asked = await readSparqlRequest(request, maxBytes);
  const query = asked ? guard(asked.text) : descriptionQuery(endpointOf(request), namedGraphs);
  const type = negotiateType(request, query);
  let giveBack: (() => void) | undefined;
  /** Once the store is done with it, however long the caller then takes to read. */
  const end = (isAbandoned: boolean) => {
    const give = giveBack;
    giveBack = undefined;
    if (give && isAbandoned) setTimeout(give, ABANDONED_MS).unref();
    else give?.();
  };
  let body: Readable;
  try {
    giveBack = await shares.take(request.identity.id, gone);
    ({ body } = await store.query(query.text, {
      accept: ALIASES.get(type) ?? type,
      defaultGraphs: asked?.defaultGraphs,
      namedGraphs: asked?.namedGraphs,
      timeoutMs,
      signal: gone,
    }));
    body.once("close", () => end(gone.aborted));
    await firstBytes(body);
  } catch (error) {
    end(gone.aborted || error instanceof GraphTimeout);
    if (gone.aborted) return;
    throw failure(error);
  }
  response
    .status(200)
    .set({
      "content-type": type.startsWith("text/") ? `${type}; charset=utf-8` : type,
      "cache-control": "no-store",
    })
    .vary("Accept, Authorization, Cookie");
  if (request.method === "HEAD") {
    // Whether the query succeeds is known by now; the rest of its answer nobody will see.
    body.destroy();
    response.end();
    return;
  }
  body.on("error", (error) => {
    // The caller has the beginning of an answer; the broken connection shows that it is incomplete.
    if (!gone.aborted) logger?.warn({ err: error }, "a query's answer broke off");
    response.destroy();
  });
  body.pipe(response);
}

/** Where this service is, as its caller sees it: a proxy that ends TLS says so in X-Forwarded-Proto. */
function endpointOf(request: Request): string {
  const forwarded = request.get("x-forwarded-proto")?.split(",", 1)[0]?.trim();
  const scheme = forwarded === "https" ? "https" : request.protocol;
  try {
    return new URL(`${scheme}://${request.get("host")}${PATH}`).href;
  } catch (error) {
    throw new ApiError("validation_failed", {
      message: "The header Host does not name a host.",
      cause: error,
    });
  }
}

function guard(text: string): GuardedQuery {
  try {
    return guardQuery(text);
  } catch (error) {
    if (!(error instanceof QueryRefused)) throw error;
    if (error.reason === "update") throw new ApiError("read_only");
    if (error.reason === "federation") throw new ApiError("federation_disabled");
    throw malformed(error.message, error.position);
  }
}

function negotiateType(request: Request, { form }: GuardedQuery): string {
  const answersGraph = form === "construct" || form === "describe";
  const offers = answersGraph ? GRAPH_TYPES : [...BINDING_TYPES, ...ALIASES.keys()];
  const type = negotiate(request.get("accept"), offers);
  if (type) return type;
  const names = answersGraph ? GRAPH_TYPES : BINDING_TYPES;
  throw new ApiError("not_acceptable", { message: `${form.toUpperCase()} answers ${names.join(", ")}.` });
}

/** Waits until the store begins to answer; up to then its failure can still become a status of ours. */
function firstBytes(body: Readable): Promise<void> {
  if (body.errored) return Promise.reject(body.errored);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  body.once("error", reject).once("readable", resolve).once("end", resolve);
  return promise;
}

function failure(error: unknown): unknown {
  if (error instanceof GraphTimeout) {
    return new ApiError("query_timeout", { cause: error });
  }
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
