// One message of the Model Context Protocol, answered by the SDK: of revision 2026-07-28, where every message
// says which revision it is, or of those of 2025, with or without a handshake.
import { randomUUID } from "node:crypto";
import {
  classifyInboundRequest,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  createMcpHandler,
  isSpecType,
  McpServer,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import packageJson from "../../package.json" with { type: "json" };
import type { ApiError } from "../errors.ts";
import { REQUEST_HEADERS } from "../headers.ts";
import { quoted } from "../quoted.ts";
import { addChurchTool, CHURCH_TOOL, withPage } from "./church-tool.ts";
import type { Page, Search } from "./church-tool.ts";
import { isObject, readMessage, RPC, rpcError } from "./messages.ts";
import type { PagedReply, Reply, RpcRequest } from "./messages.ts";

/** The caller of a message. */
export type Caller = {
  /** The headers of the protocol that came with the message. */
  headers: ProtocolHeaders;
  /** Searches on this caller's behalf. */
  search: (query: Record<string, unknown>) => Promise<Page>;
  /** Called with failures that are not the caller's fault. */
  failed: (error: Error | ApiError) => void;
};

/** The headers that the protocol defines. */
const { mcpProtocolVersion, mcpMethod, mcpName } = REQUEST_HEADERS;
export const PROTOCOL_HEADERS = [mcpProtocolVersion, mcpMethod, mcpName] as const;
export type ProtocolHeaders = Partial<Record<(typeof PROTOCOL_HEADERS)[number], string>>;

type Era = "legacy" | "modern";

// What each era may call. Nothing here ever changes on its own, so there is nothing to subscribe to.
const METHODS: Record<Era, readonly string[]> = {
  legacy: ["initialize", "ping", "tools/list", "tools/call"],
  modern: ["server/discover", "tools/list", "tools/call"],
};
const CURRENT = "2026-07-28";
const REVISIONS = [CURRENT, ...SUPPORTED_PROTOCOL_VERSIONS];
const META = `params._meta does not follow the protocol: revision ${CURRENT} needs ${[PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY].join(", ")}; the revisions of 2025 need none.`;
const HOUR_MS = 3_600_000;

/**
 * Answers one message.
 * @param value the message as parsed from JSON
 * @param inBatch whether it came in a batch, which the current revision does not have
 */
export async function answerMessage(value: unknown, caller: Caller, inBatch: boolean): Promise<PagedReply> {
  const read = readMessage(value);
  if ("reply" in read) return read.reply;
  const { request } = read;

  const { headers } = caller;
  const unknown = unknownRevision(request, headers["mcp-protocol-version"]);
  if (unknown) return unknown;
  const route = classifyInboundRequest({
    httpMethod: "POST",
    body: request,
    // The handler that answers the message compares the other headers with it.
    protocolVersionHeader: headers[mcpProtocolVersion],
  });
  // What is malformed is not told to be sent alone, but what is wrong with it. What only lacks what its headers announce is whole.
  const meta = request.params?.["_meta"];
  const isMalformed =
    route.kind === "reject" &&
    (route.rung === "jsonrpc-shape" || (route.rung === "envelope" && meta !== undefined));
  if (inBatch && route.kind !== "legacy" && !isMalformed) {
    return rpcError(
      request.id,
      RPC.invalidRequest,
      "A message of this revision must be sent alone, not in a batch.",
    );
  }
  if (route.kind === "reject") {
    const { code, message, httpStatus: status, data } = route;
    return route.rung === "era-classification"
      ? rpcError(request.id, code, message, { status, data })
      : rpcError(request.id, RPC.invalidParams, META, { status });
  }
  const problem = problemOf(request, route.kind);
  if (problem) return problem;
  const standIn = randomUUID();
  let page: Page | undefined;
  const search: Search = async (query) => {
    page = await caller.search(query);
    return standIn;
  };
  const answer = route.kind === "modern" ? modern : legacy;
  const reply = inPlainWords(await answer(request, search, caller), request, caller);
  return page === undefined || reply.body === undefined
    ? reply
    : { ...reply, body: withPage(reply.body, standIn, page) };
}

/**
 * Refuses a revision that the service does not know, in a batch too. The SDK takes whatever sorts after the
 * current revision for one that needs `_meta`.
 */
function unknownRevision({ id, method, params }: RpcRequest, header: string | undefined): Reply | undefined {
  // Which revision it is to be is only found out by it.
  if (method === "initialize") return undefined;
  const meta = params?.["_meta"];
  const requested = isObject(meta) ? meta[PROTOCOL_VERSION_META_KEY] : undefined;
  const told = (revision: string) => `Unsupported protocol version: ${quoted(revision)}`;
  if (typeof requested === "string" && !REVISIONS.includes(requested)) {
    const data = { supported: [CURRENT], requested };
    return rpcError(id, RPC.unsupportedRevision, told(requested), { status: 400, data });
  }
  if (requested !== undefined || header === undefined || REVISIONS.includes(header)) return undefined;
  const message = `${told(header)} (supported versions: ${REVISIONS.join(", ")})`;
  return rpcError(id, RPC.unsupportedHeader, message, { status: 400 });
}

/** Refuses what the SDK would refuse in the words of its schemas, or would answer with a stream. */
function problemOf(request: RpcRequest, era: Era): Reply | undefined {
  const { id, method, params = {} } = request;
  if (!METHODS[era].includes(method)) {
    const message = `There is no method ${quote(method)}; the methods are ${METHODS[era].join(", ")}.`;
    return rpcError(id, RPC.methodNotFound, message, { status: era === "modern" ? 404 : 200 });
  }
  const refuse = (message: string) => rpcError(id, RPC.invalidParams, message);
  if (method === "initialize" && !isSpecType.InitializeRequest(request)) {
    return refuse(
      "The params of initialize must be protocolVersion, capabilities and clientInfo with name and version.",
    );
  }
  if (method === "tools/list" && !isSpecType.ListToolsRequest(request)) {
    return refuse("tools/list takes no params: all tools are on one page.");
  }
  if (method !== "tools/call") return undefined;
  const { name, arguments: input } = params;
  if (name === undefined) return refuse(`params.name is missing: it names the tool to call, ${CHURCH_TOOL}.`);
  if (typeof name !== "string")
    return refuse(`params.name must be a string: it names the tool to call, ${CHURCH_TOOL}.`);
  if (name !== CHURCH_TOOL) {
    return refuse(`There is no tool ${quote(name)}; the only one is ${CHURCH_TOOL}.`);
  }
  if (input !== undefined && !isObject(input)) {
    return refuse('params.arguments must be an object: {"queryParams": {…}}.');
  }
  return undefined;
}

function toolServer(search: Search, { failed }: Caller): McpServer {
  const server = new McpServer(
    { name: packageJson.name, title: "Engagement Graph", version: packageJson.version },
    {
      capabilities: { tools: { listChanged: false } },
      instructions: `${CHURCH_TOOL} searches a directory of churches. Nothing can be changed here.`,
      cacheHints: {
        "tools/list": { ttlMs: HOUR_MS, cacheScope: "public" },
        "server/discover": { ttlMs: HOUR_MS, cacheScope: "public" },
      },
    },
  );
  addChurchTool(server, search, failed);
  return server;
}

async function modern(request: RpcRequest, search: Search, caller: Caller): Promise<Reply> {
  const handler = createMcpHandler(() => toolServer(search, caller), { legacy: "reject" });
  return replyFrom(await handler.fetch(webRequest(caller.headers), { parsedBody: request }));
}

async function legacy(request: RpcRequest, search: Search, caller: Caller): Promise<Reply> {
  const server = toolServer(search, caller);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await replyFrom(
      await transport.handleRequest(webRequest(caller.headers), { parsedBody: request }),
    );
  } finally {
    await server.close();
  }
}

// The caller's own URL and headers are not passed on, nor the key in them. Both media types are accepted
// because the SDK insists on both, whichever it answers with.
function webRequest(headers: ProtocolHeaders): Request {
  return new Request("http://localhost/", {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
  });
}

async function replyFrom(response: Response): Promise<Reply> {
  return { status: response.status, body: await response.text() };
}

/**
 * The reply, with plain words for params that the SDK could not read, and with the id if the SDK left it out.
 */
function inPlainWords(reply: Reply, { id, method }: RpcRequest, { failed }: Caller): Reply {
  // Results begin like this; only errors are worth parsing.
  if (!reply.body || reply.body.startsWith('{"result":')) return reply;
  const { error } = JSON.parse(reply.body) as { error?: { code: number; message: string; data?: unknown } };
  if (error?.code === RPC.invalidParams) {
    return rpcError(id, error.code, `The params of ${method} do not follow the protocol.`, reply);
  }
  if (error?.code === RPC.internalError) {
    failed(new Error(error.message));
    return rpcError(id, error.code, "The service failed to answer; the failure has been logged.", reply);
  }
  return error ? rpcError(id, error.code, error.message, { status: reply.status, data: error.data }) : reply;
}

function quote(text: string): string {
  return JSON.stringify(quoted(text));
}
