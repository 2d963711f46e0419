// /v0/sparql: queries of the whole graph, from anybody with a key.
import type { Readable } from "node:stream";
import type { Request, RequestHandler, Response } from "express";
import type { Logger } from "pino";
import { ALIASES, BINDING_TYPES, GRAPH_TYPES, negotiate } from "../../graph/media-types.ts";
import type { GuardedQuery } from "../../graph/sparql-guard.ts";
import { breakOff } from "../break-off.ts";
import { withAllowed } from "../door.ts";
import type { Door } from "../door.ts";
import { ApiError } from "../errors.ts";
import { hungUp } from "../hang-up.ts";
import { descriptionQuery } from "./description.ts";
import { DOWNLOADS } from "./downloads.ts";
import type { SparqlEndpoint } from "./endpoint.ts";
import { breakOffIfSlow } from "./slow-readers.ts";
import { readSparqlRequest } from "./request.ts";

type Parts = { endpoint: SparqlEndpoint; logger?: Pick<Logger, "warn"> };

const PATH = "/v0/sparql";
const METHODS = "GET, HEAD, POST, OPTIONS";

/** /v0/sparql, behind a key. It reads its own body: no body parser may come before it. */
export function sparqlDoor(parts: Parts): Door {
  const query: RequestHandler = (request, response) =>
    answer(request, response, parts, { accept: request.get("accept") });

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
    for (const { path, ...as } of DOWNLOADS) {
      app.get(path, ...guards.key, (request, response) => answer(request, response, parts, as));
    }
  });
}

async function answer(
  request: Request,
  response: Response,
  { endpoint, logger }: Parts,
  { accept, file }: { accept: string | undefined; file?: string },
): Promise<void> {
  const gone = hungUp(response);
  const asked = await readSparqlRequest(request, endpoint.maxBytes);
  const caller = request.identity.id;
  const query = asked
    ? await endpoint.guard(asked.text, { caller, gone })
    : descriptionQuery(endpointOf(request), endpoint.namedGraphs);
  const type = negotiateType(accept, query);
  let body: Readable;
  try {
    const { defaultGraphs, namedGraphs } = asked ?? {};
    body = await endpoint.run(query, { type, caller, gone, defaultGraphs, namedGraphs });
  } catch (error) {
    if (gone.aborted) return;
    throw error;
  }
  if (file !== undefined) response.attachment(file);
  response
    .status(200)
    .set({ "content-type": type, "cache-control": "no-store" })
    .vary("Accept, Authorization, Cookie");
  if (request.method === "HEAD") {
    // It is known by now whether the query succeeds; HEAD does not need the rest of its answer.
    body.destroy();
    response.end();
    return;
  }
  body.on("error", (error) => {
    // The caller has the beginning of an answer; the broken connection shows that it is incomplete.
    if (!gone.aborted) logger?.warn({ err: error }, "a query's answer broke off");
    breakOff(response);
  });
  body.pipe(response);
  breakOffIfSlow(response, body, () => endpoint.isInTheWay(caller));
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

function negotiateType(accept: string | undefined, { form }: GuardedQuery): string {
  const answersGraph = form === "construct" || form === "describe";
  const offers = answersGraph ? GRAPH_TYPES : [...BINDING_TYPES, ...ALIASES.keys()];
  const type = negotiate(accept, offers);
  if (type) return type;
  const names = answersGraph ? GRAPH_TYPES : BINDING_TYPES;
  throw new ApiError("not_acceptable", { message: `${form.toUpperCase()} answers ${names.join(", ")}.` });
}
