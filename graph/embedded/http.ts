// SPARQL 1.1 Protocol and Graph Store HTTP Protocol in front of the engine.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { getRawBody, type RawBodyError } from "raw-body";
import { ALIASES, BINDING_TYPES, GRAPH_TYPES, mediaType, negotiate, RESULTS_JSON } from "../media-types.ts";
import { CANCELLED_NOTICE } from "../store-body.ts";
import type { Engine } from "./engine.ts";
import { shapeOf } from "./query-form.ts";
import {
  TaskRefused,
  TaskTimeout,
  TaskTooLarge,
  ThreadGone,
  type Answer,
  type Change,
  type Dataset,
  type Question,
} from "./tasks.ts";

/** A request that ends with a status and one line of text. */
class HttpError extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

const FORM = "application/x-www-form-urlencoded";
const YES = Buffer.from('{"head":{},"boolean":true}');
const LONGEST_BODY = 1024 * 1024 * 1024;

/** Handles requests to `…/query`, `…/sparql`, `…/update` and `…/data`; the path before that is ignored. */
export function createHandler(engine: Engine) {
  const operations: Record<
    string,
    (request: IncomingMessage, url: URL, gone: AbortSignal) => Promise<Result>
  > = {
    query: (request, url, gone) => answerQuery(engine, request, url, gone),
    sparql: (request, url, gone) => answerQuery(engine, request, url, gone),
    update: (request, url) => runUpdate(engine, request, url),
    data: (request, url, gone) => serveGraph(engine, request, url, gone),
  };

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    try {
      const url = new URL(request.url ?? "/", "http://localhost");
      const operation = operations[url.pathname.split("/").at(-1) ?? ""];
      if (!operation) throw new HttpError(404, "Not found.");
      await sendResult(response, await operation(request, url, gone.signal));
    } catch (error) {
      sendError(response, error);
    }
  };
}

interface Result {
  status: number;
  type?: string;
  body?: Uint8Array | Readable;
}

async function answerQuery(
  engine: Engine,
  request: IncomingMessage,
  url: URL,
  signal: AbortSignal,
): Promise<Result> {
  const { text, parameters } = await readOperation(request, url, "query");
  const shape = shapeOf(text);
  const type = chooseType(request, shape.answersGraph ? GRAPH_TYPES : [...BINDING_TYPES, ...ALIASES.keys()]);
  // This question only asks whether the store is there, and every thread may be busy for seconds.
  if (shape.asksNothing && type === RESULTS_JSON) return { status: 200, type, body: YES };
  const question: Question = {
    kind: "query",
    sparql: text,
    type: ALIASES.get(type) ?? type,
    answersGraph: shape.answersGraph,
    quick: isUrgent(request),
    dataset: datasetOf(parameters, shape.namesDataset),
  };
  return { status: 200, type, body: await engine.ask(question, signal) };
}

async function runUpdate(engine: Engine, request: IncomingMessage, url: URL): Promise<Result> {
  if (request.method !== "POST") throw new HttpError(405, "Send updates with POST.", { allow: "POST" });
  const { text, parameters } = await readOperation(request, url, "update");
  if (parameters.has("using-graph-uri") || parameters.has("using-named-graph-uri")) {
    throw new HttpError(400, "using-graph-uri is not supported; put USING in the update.");
  }
  await engine.change({ kind: "update", sparql: text });
  return { status: 204 };
}

async function serveGraph(
  engine: Engine,
  request: IncomingMessage,
  url: URL,
  signal: AbortSignal,
): Promise<Result> {
  const graph = targetGraph(url);
  const missing = new HttpError(404, "There is no such graph.");
  switch (request.method) {
    case "GET":
    case "HEAD": {
      const type = chooseType(request, GRAPH_TYPES);
      const body = await engine.ask({ kind: "graph", graph, type }, signal);
      if (!body) throw missing;
      return { status: 200, type, body };
    }
    case "PUT":
    case "POST": {
      const type = mediaType(request.headers["content-type"] ?? "text/turtle");
      if (!GRAPH_TYPES.includes(type)) throw new HttpError(415, `Send one of ${GRAPH_TYPES.join(", ")}.`);
      const data = new Uint8Array(await readBody(request));
      const { existed } = await engine.change({
        kind: "load",
        graph,
        type,
        data,
        replace: request.method === "PUT",
        base: `http://${request.headers.host}${request.url}`,
      });
      return { status: existed ? 204 : 201 };
    }
    case "DELETE": {
      const { existed }: Answer = await engine.change({ kind: "drop", graph } satisfies Change);
      if (!existed) throw missing;
      return { status: 204 };
    }
    default:
      throw new HttpError(405, "This method is not supported.", { allow: "GET, HEAD, PUT, POST, DELETE" });
  }
}

/** Reads an operation that was sent in any of the three ways that the protocol allows. */
async function readOperation(
  request: IncomingMessage,
  url: URL,
  name: "query" | "update",
): Promise<{ text: string; parameters: URLSearchParams }> {
  let parameters = url.searchParams;
  let text: string | null;
  if (request.method === "GET") text = one(parameters, name);
  else if (request.method !== "POST") throw new HttpError(405, "Use GET or POST.", { allow: "GET, POST" });
  else {
    const type = mediaType(request.headers["content-type"]);
    const body = (await readBody(request)).toString("utf8");
    if (type === `application/sparql-${name}`) text = body;
    else if (type === FORM) {
      parameters = new URLSearchParams(body);
      text = one(parameters, name);
    } else throw new HttpError(415, `Send application/sparql-${name} or ${FORM}.`);
  }
  if (text === null) throw new HttpError(400, `The parameter "${name}" is missing.`);
  return { text, parameters };
}

function one(parameters: URLSearchParams, name: string): string | null {
  const values = parameters.getAll(name);
  if (values.length > 1) throw new HttpError(400, `The parameter "${name}" is given more than once.`);
  return values[0] ?? null;
}

function datasetOf(parameters: URLSearchParams, namesDataset: boolean): Dataset {
  const defaultGraphs = parameters.getAll("default-graph-uri");
  const namedGraphs = parameters.getAll("named-graph-uri");
  if (defaultGraphs.length + namedGraphs.length > 0) return { defaultGraphs, namedGraphs };
  return namesDataset ? "query" : "union";
}

function targetGraph(url: URL): string | null {
  const graph = one(url.searchParams, "graph");
  if (url.searchParams.has("default") === (graph !== null)) {
    throw new HttpError(400, "Name one graph with ?graph=<iri> or ?default.");
  }
  if (graph !== null && !/^[a-z][a-z0-9+.-]*:[^<>"{}|^`\\\s]*$/i.test(graph)) {
    throw new HttpError(400, "The graph's name is not an absolute IRI.");
  }
  return graph;
}

function chooseType(request: IncomingMessage, offers: readonly string[]): string {
  const type = negotiate(request.headers.accept, offers);
  if (!type) throw new HttpError(406, `Available are ${offers.join(", ")}.`);
  return type;
}

// RFC 9218: 0 is the most urgent, 3 the default.
function isUrgent(request: IncomingMessage): boolean {
  return /\bu=[0-2]\b/.test(String(request.headers.priority ?? ""));
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  try {
    return await getRawBody(request, { length: request.headers["content-length"], limit: LONGEST_BODY });
  } catch (error) {
    if ((error as RawBodyError).type !== "entity.too.large") throw error;
    throw new HttpError(413, "The body is too large.");
  }
}

async function sendResult(response: ServerResponse, { status, type, body }: Result): Promise<void> {
  if (!body || !type) {
    response.writeHead(status).end();
    return;
  }
  response.setHeader("content-type", type.startsWith("text/") ? `${type}; charset=utf-8` : type);
  if (body instanceof Uint8Array) {
    response.writeHead(status, { "content-length": body.byteLength }).end(body);
    return;
  }
  response.writeHead(status);
  // An answer must not wait for a caller who has left, perhaps before it began.
  response.once("close", () => body.destroy());
  if (response.destroyed) body.destroy();
  // Errors need no handling: either the caller hung up, or the connection is cut, which shows
  // that the answer is incomplete.
  await pipeline(saysWhenOver(body), response).catch(() => undefined);
}

/** As in Fuseki: the status has been sent by then, so a notice at the end tells a timeout from a failure. */
async function* saysWhenOver(body: Readable): AsyncGenerator<Uint8Array | string> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (!(error instanceof TaskTimeout)) throw error;
    yield `\n${CANCELLED_NOTICE}\n`;
  }
}

function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const headers = { "content-type": "text/plain; charset=utf-8" };
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof HttpError) response.writeHead(error.status, { ...headers, ...error.headers });
  else if (error instanceof TaskRefused) response.writeHead(400, headers);
  else if (error instanceof TaskTooLarge) response.writeHead(507, headers);
  else if (error instanceof TaskTimeout) response.writeHead(504, headers);
  else if (error instanceof ThreadGone) response.writeHead(503, headers);
  else response.writeHead(500, headers);
  response.end(`${message}\n`);
}
