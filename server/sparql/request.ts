// What a request to /v0/sparql asks for, in any of the forms of the SPARQL 1.1 Protocol.
import type { Request } from "express";
import { getRawBody } from "raw-body";
import { z } from "zod";
import { mediaType } from "../../graph/media-types.ts";
import { ApiError, validationFailed } from "../errors.ts";
import { knowStill } from "../identity/still-known.ts";
import { malformed } from "../rest/body.ts";
import { decodeUtf8, parseJson, requireUtf8Charset, requireUtf8Encoding } from "../text.ts";

/** A query as it was sent, not yet checked. */
export type SparqlRequest = Readonly<{
  text: string;
  defaultGraphs: readonly string[];
  namedGraphs: readonly string[];
}>;

const DIRECT = "application/sparql-query";
const UPDATE = "application/sparql-update";
const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";

/** The protocol's parameters of a URL; a URL without any of them asks for the service description. */
const PARAMETERS = ["query", "update", "default-graph-uri", "named-graph-uri"] as const;

const graphs = z
  .union([z.string(), z.array(z.string())], { error: "must be an IRI or a list of IRIs" })
  .optional();
const jsonBody = z.strictObject({
  query: z.string({ error: ({ input }) => (input === undefined ? "is required" : "must be a string") }),
  "default-graph-uri": graphs,
  "named-graph-uri": graphs,
});

/** In characters, of the names of all graphs together: they are in the URL of the request to the store. */
const LONGEST_DATASET = 6_000;

/** An absolute IRI without the characters that an IRI reference cannot hold. */
const ABSOLUTE_IRI = /^[a-z][a-z0-9+.-]*:[^<>"{}|^`\\\s]*$/i;

/**
 * Reads the query and its dataset from the address and, of a POST, the body.
 * @param maxBytes the longest body, and the longest address, in bytes
 * @returns undefined for an address with neither query nor dataset: it asks for the service description
 * @throws ApiError 400, 403 read_only, 413 or 415; what identifying throws
 */
export async function readSparqlRequest(
  request: Request,
  maxBytes: number,
): Promise<SparqlRequest | undefined> {
  const { originalUrl } = request;
  if (originalUrl.length > maxBytes) throw tooLong(maxBytes);
  const start = originalUrl.indexOf("?");
  const address = decodeForm(Buffer.from(start < 0 ? "" : originalUrl.slice(start + 1)));
  if (request.method !== "POST") {
    return PARAMETERS.some((name) => address.has(name)) ? fromForm(address) : undefined;
  }
  const type = requireKnownType(request);
  const body = await readBody(request, maxBytes);
  await knowStill(request);
  if (type === DIRECT) return withDataset(decodeUtf8(body, "The query"), address);
  if (type === FORM) return fromForm(decodeForm(body), address);
  return fromJson(parseJson(body), address);
}

function requireKnownType(request: Request): string {
  const header = request.get("content-type");
  const type = mediaType(header);
  if (type === UPDATE) throw new ApiError("read_only");
  const encoding = request.get("content-encoding")?.toLowerCase() ?? "identity";
  if (![DIRECT, FORM, JSON_TYPE].includes(type) || encoding !== "identity") {
    throw new ApiError("unsupported_media_type", {
      message: `Send the query as ${DIRECT}, ${FORM} or ${JSON_TYPE}, in UTF-8 and without a content encoding.`,
    });
  }
  requireUtf8Charset(header);
  return type;
}

function fromForm(form: URLSearchParams, ...others: URLSearchParams[]): SparqlRequest {
  if (form.has("update")) throw new ApiError("read_only");
  const queries = form.getAll("query");
  if (queries.length > 1) throw validationFailed([{ path: "query", message: "is given more than once" }]);
  const [text] = queries;
  if (text === undefined) throw validationFailed([{ path: "query", message: "is required" }]);
  return withDataset(text, ...others, form);
}

function fromJson(value: unknown, address: URLSearchParams): SparqlRequest {
  if (typeof value === "object" && value !== null && "update" in value) throw new ApiError("read_only");
  const parsed = jsonBody.safeParse(value);
  if (!parsed.success) throw malformed(parsed.error.issues);
  const dataset = new URLSearchParams();
  for (const name of ["default-graph-uri", "named-graph-uri"] as const) {
    for (const graph of [parsed.data[name] ?? []].flat()) dataset.append(name, graph);
  }
  return withDataset(parsed.data.query, address, dataset);
}

function withDataset(text: string, ...sources: URLSearchParams[]): SparqlRequest {
  const all = (name: string) => sources.flatMap((source) => source.getAll(name));
  const request = { text, defaultGraphs: all("default-graph-uri"), namedGraphs: all("named-graph-uri") };
  const problems = [
    ...request.defaultGraphs.filter(isNotAbsolute).map(() => "default-graph-uri"),
    ...request.namedGraphs.filter(isNotAbsolute).map(() => "named-graph-uri"),
  ];
  if (problems.length > 0) {
    throw validationFailed(problems.map((path) => ({ path, message: "must be an absolute IRI" })));
  }
  const named = request.defaultGraphs.concat(request.namedGraphs);
  const address = new URLSearchParams(named.map((graph): [string, string] => ["default-graph-uri", graph]));
  if (address.toString().length > LONGEST_DATASET) {
    throw new ApiError("payload_too_large", {
      message: `The graphs that a query names may have at most ${LONGEST_DATASET} characters, as in an address.`,
    });
  }
  return request;
}

function isNotAbsolute(iri: string): boolean {
  return !ABSOLUTE_IRI.test(iri);
}

function decodeForm(bytes: Buffer): URLSearchParams {
  const form = decodeUtf8(bytes, "The query");
  requireUtf8Encoding(bytes.toString("latin1"), "The query");
  return new URLSearchParams(form);
}

/** The whole body; one that is too long is left unread, so that the caller can still read the answer. */
async function readBody(request: Request, maxBytes: number): Promise<Buffer> {
  try {
    return await getRawBody(request, { limit: maxBytes, length: request.get("content-length") ?? null });
  } catch (error) {
    if (!(error instanceof Error && "type" in error && error.type === "entity.too.large")) throw error;
    throw tooLong(maxBytes);
  }
}

/** The refusal of a query, or a URL, that is too long. */
export function tooLong(maxBytes: number): ApiError {
  return new ApiError("payload_too_large", {
    message: `A query may have at most ${maxBytes} bytes.`,
    headers: { connection: "close" },
  });
}
