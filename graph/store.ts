// The graph store, reached through the SPARQL 1.1 Protocol and the SPARQL 1.1 Graph Store HTTP Protocol and
// nothing else, so that one engine can replace another.
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import SimpleClient from "sparql-http-client/SimpleClient.js";
import { N_TRIPLES, RESULTS_JSON, mediaType, negotiate } from "./media-types.ts";
import { GraphNotFound, GraphRejected, GraphUnavailable } from "./store-errors.ts";
import { createTransport, readAll, type StoreResponse, type TakesPlace } from "./store-http.ts";
import type { StoreUrls } from "./store-urls.ts";

export {
  GraphFailed,
  GraphRejected,
  GraphTimeout,
  GraphTooExpensive,
  GraphUnavailable,
  GraphUnconfirmed,
  GraphUnreachable,
  type Position,
} from "./store-errors.ts";
export type { StoreResponse } from "./store-http.ts";
export { storeUrls, type StoreUrls } from "./store-urls.ts";

export interface GraphStoreOptions extends StoreUrls {
  user?: string;
  password?: string;
  /**
   * whether the engine takes the time limit of a query from its URL, in seconds, as `timeout`: Fuseki does
   */
  takesTimeout?: boolean;
  /**
   * whether the engine ends a query when its connection is closed: the embedded store
   * does; Fuseki and RDF4J go on
   */
  endsWhenLeft?: boolean;
  /** for a query or an update, in milliseconds; 30,000 by default */
  timeoutMs?: number;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** in milliseconds */
  timeoutMs?: number;
}

export interface QueryOptions extends CallOptions {
  /** an Accept header; SPARQL results as JSON by default */
  accept?: string;
  /** the protocol's `default-graph-uri` and `named-graph-uri`; they replace the query's FROM */
  defaultGraphs?: readonly string[];
  namedGraphs?: readonly string[];
  /**
   * "service" for the service's own queries, which are known to be quick: an engine that knows the header
   * `Priority` (RFC 9218) serves them first. Others ignore it.
   */
  priority?: "service" | "public";
  /**
   * Takes a slot before the query is sent. The slot is given back when the store is done with the query, even
   * if the caller left long before: only an answer shows that, so the request stays open until then.
   */
  place?: TakesPlace;
  /**
   * The same query, rewritten for an engine that takes a time limit and could not end it
   * otherwise (see sparql-endable.ts).
   */
  endable?: string;
  /**
   * for the service's own queries: makes the text unlike any other, so that no cache on the way can
   * answer it; not for `SELECT *`
   */
  fresh?: boolean;
}

/** One RDF term in a result, in the SPARQL results JSON format. */
export interface Binding {
  type: "uri" | "literal" | "typed-literal" | "bnode" | "triple";
  value: string;
  datatype?: string;
  "xml:lang"?: string;
}

/** One solution: a variable that is unbound is absent. */
export type Row = Partial<Record<string, Binding>>;

/**
 * The variable that makes a fresh query unlike all others. A SELECT that names it either shows that it was
 * answered just now, or fails: a cache on the way may not even look at the query.
 */
export const ASKED = "asked";

/** All methods throw GraphUnavailable, GraphTimeout or GraphRejected, and nothing else of their own. */
export interface GraphStore {
  /** Runs a query and streams its answer; the body fails with an error rather than end early. */
  query(sparql: string, options?: QueryOptions): Promise<StoreResponse>;
  select(sparql: string, options?: CallOptions): Promise<Row[]>;
  ask(sparql: string, options?: CallOptions): Promise<boolean>;
  /** @returns the triples as text, N-Triples unless `accept` says otherwise */
  construct(sparql: string, options?: CallOptions & { accept?: string }): Promise<string>;
  /** Runs a whole SPARQL update, all of it or (where the engine has transactions) none. */
  update(sparql: string, options?: CallOptions): Promise<void>;
  /** Streams a named graph; undefined when the store has no such graph. */
  getGraph(graph: string, options?: CallOptions & { accept?: string }): Promise<StoreResponse | undefined>;
  /**
   * Replaces all triples of a named graph with `body`, in a single step as far as readers can tell.
   * A stream should be RDF/XML: in any other format, an engine may take a broken-off stream for all
   * of it (see graph/rdf-xml.ts).
   */
  putGraph(graph: string, body: string | Readable, contentType: string, options?: CallOptions): Promise<void>;
  /** Whether the store answers a trivial query within two seconds. */
  isAvailable(): Promise<boolean>;
  /** Closes all connections; the store cannot be used any more. */
  close(): void;
}

const DEFAULT_TIMEOUT_MS = 30_000;
// How long a whole graph takes to load depends on its size, and nobody is waiting for it.
const LOAD_TIMEOUT_MS = 600_000;
const AVAILABILITY_TIMEOUT_MS = 2_000;
const LONGEST_UPDATE_ANSWER = 65_536;
// Limits on answers to the service's own queries, which are held in memory. Both are more than any answer
// has. A CONSTRUCT may return a whole list, so its limit is higher.
const LONGEST_ROWS = 64 * 1024 * 1024;
const LONGEST_LIST = 256 * 1024 * 1024;
// For caches that respect it; others never see the same query twice.
const UNCACHED = { "cache-control": "no-cache, no-store", pragma: "no-cache" };

export function createGraphStore(options: GraphStoreOptions): GraphStore {
  const transport = createTransport(options);
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;

  /** A client for one call, whose time limit and signal it carries. */
  function client(
    { signal, timeoutMs: limit = timeoutMs, place }: CallOptions & Pick<QueryOptions, "place">,
    repeatable: boolean,
  ): SimpleClient {
    const conditions = { signal, timeoutMs: limit, repeatable, place };
    const send = (url: URL, request: Parameters<typeof transport.send>[1]) =>
      transport.send(url, request, conditions);
    const endpointUrl = new URL(options.queryUrl);
    // Otherwise the engine might go on after the caller has stopped waiting, or stop
    // while the caller still waits.
    if (options.takesTimeout)
      endpointUrl.searchParams.set("timeout", String(Math.ceil(conditions.timeoutMs / 1_000)));
    return new SimpleClient({
      endpointUrl: endpointUrl.href,
      updateUrl: options.updateUrl,
      // Like the library's own fetch on Node, this one returns a Node stream, which its types leave out.
      fetch: send as unknown as typeof fetch,
    });
  }

  async function query(
    sparql: string,
    { fresh = false, endable = sparql, ...call }: QueryOptions = {},
    nonce = randomUUID(),
  ): Promise<StoreResponse> {
    const accept = call.accept ?? RESULTS_JSON;
    // A value, because a proxy that rewrites queries may drop comments and prefixes.
    const text = fresh
      ? `${sparql}\nVALUES ?${ASKED} { "${nonce}" }`
      : options.takesTimeout
        ? endable
        : sparql;
    // Works for every form of query: the library's methods differ only in the Accept header.
    const response: unknown = await client(call, true).query.select(text, {
      operation: "postDirect",
      headers: {
        "content-type": "application/sparql-query; charset=utf-8",
        accept,
        priority: call.priority === "service" ? "u=1" : "u=4",
        ...(fresh && UNCACHED),
      },
      defaultGraph: [...(call.defaultGraphs ?? [])],
      namedGraph: [...(call.namedGraphs ?? [])],
    });
    return expectType(response as StoreResponse, accept);
  }

  async function queryJson(
    sparql: string,
    call: CallOptions,
    nonce = randomUUID(),
  ): Promise<Record<string, unknown>> {
    const own = { accept: RESULTS_JSON, priority: "service", fresh: true } as const;
    const response = await query(sparql, { ...call, ...own }, nonce);
    const text = await readOwn(response.body, LONGEST_ROWS);
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch (error) {
      throw new GraphUnavailable("The graph store's answer is not JSON.", { cause: error });
    }
  }

  /** One request of the Graph Store Protocol, which the library supports only for quads, not for text. */
  function graphRequest(
    method: "GET" | "PUT",
    graph: string,
    call: CallOptions = {},
    content: { headers?: Record<string, string>; body?: string | Readable } = {},
  ): Promise<StoreResponse> {
    const url = new URL(options.graphStoreUrl);
    url.searchParams.append("graph", graph);
    return transport.send(
      url,
      { method, body: content.body, headers: { ...content.headers, ...UNCACHED } },
      {
        signal: call.signal,
        timeoutMs: call.timeoutMs ?? LOAD_TIMEOUT_MS,
        repeatable: method === "GET",
      },
    );
  }

  return {
    query: (sparql, call) => query(sparql, call),

    async select(sparql, call = {}) {
      const nonce = randomUUID();
      const { results } = await queryJson(sparql, call, nonce);
      const rows =
        typeof results === "object" && results !== null && "bindings" in results && results.bindings;
      if (!Array.isArray(rows) || !rows.every(isRow))
        throw new GraphUnavailable("The graph store's answer contains no results.");
      for (const { [ASKED]: asked } of rows) {
        if (asked && asked.value !== nonce)
          throw new GraphUnavailable("A cache in front of the graph store answered with an old result.");
      }
      return rows;
    },

    async ask(sparql, call = {}) {
      const { boolean } = await queryJson(sparql, call);
      if (typeof boolean !== "boolean")
        throw new GraphUnavailable("The graph store's answer contains no boolean.");
      return boolean;
    },

    async construct(sparql, call = {}) {
      const { body } = await query(sparql, {
        accept: N_TRIPLES,
        ...call,
        priority: "service",
        fresh: true,
      });
      return readOwn(body, LONGEST_LIST);
    },

    async update(sparql, call = {}) {
      // A unique comment, since the same repair may be sent twice.
      const response: unknown = await client(call, false).query.update(`${sparql}\n# ${randomUUID()}`, {
        operation: "postDirect",
        // A servlet container takes text without a charset for Latin-1, whatever SPARQL says.
        headers: { "content-type": "application/sparql-update; charset=utf-8", ...UNCACHED },
      });
      await confirm(response as StoreResponse, [200, 204]);
    },

    async getGraph(graph, call = {}) {
      const accept = call.accept ?? N_TRIPLES;
      try {
        return expectType(await graphRequest("GET", graph, call, { headers: { accept } }), accept);
      } catch (error) {
        if (error instanceof GraphNotFound) return undefined;
        throw error;
      }
    },

    async putGraph(graph, body, contentType, call) {
      const content = { headers: { "content-type": contentType }, body };
      await confirm(await graphRequest("PUT", graph, call, content), [200, 201, 204]);
    },

    async isAvailable() {
      try {
        const { boolean } = await queryJson("ASK {}", { timeoutMs: AVAILABILITY_TIMEOUT_MS });
        return boolean === true;
      } catch (error) {
        if (error instanceof GraphUnavailable || error instanceof GraphRejected) return false;
        throw error;
      }
    },

    close: () => transport.close(),
  };
}

/**
 * An answer of an unexpected type is an error page posing as a success. 203 is a 200 that a proxy has
 * changed, and any other success is not a whole answer.
 */
function expectType(response: StoreResponse, accept: string): StoreResponse {
  if ([200, 203].includes(response.status) && negotiate(accept, [mediaType(response.contentType)]))
    return response;
  response.body.destroy();
  const type = response.contentType || "no content type";
  throw new GraphUnavailable(`The graph store answered ${response.status} with ${type}.`);
}

async function readOwn(body: Readable, most: number): Promise<string> {
  const text = await readAll(body, most);
  if (Buffer.byteLength(text) >= most) {
    throw new GraphUnavailable(`The graph store's answer has more than ${most / 1024 / 1024} MB.`);
  }
  return text;
}

function isRow(row: unknown): row is Row {
  return (
    typeof row === "object" &&
    row !== null &&
    !Array.isArray(row) &&
    Object.values(row as Record<string, unknown>).every(isTerm)
  );
}

function isTerm(term: unknown): boolean {
  return (
    typeof term === "object" &&
    term !== null &&
    "value" in term &&
    // The value of a triple is an object of three terms.
    (typeof term.value === "string" || ("type" in term && term.type === "triple"))
  );
}

/**
 * A change counts only if the status says so, and neither the type nor the text of the answer contradicts it.
 */
async function confirm(response: StoreResponse, statuses: readonly number[]): Promise<void> {
  const text = await readAll(response.body, LONGEST_UPDATE_ANSWER);
  if (!statuses.includes(response.status)) {
    throw new GraphUnavailable(`The graph store answered ${response.status} to a change.`);
  }
  if (/\bx?html\b/.test(mediaType(response.contentType))) {
    throw new GraphUnavailable("A web page came back in answer to a change, not from the graph store.");
  }
  if (/\b(error|exception|failed|failure)\b/i.test(text)) {
    throw new GraphUnavailable("The graph store answered a change with both success and an error.");
  }
}
