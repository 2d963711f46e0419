// JSON-RPC 2.0 as the tool endpoint speaks it: what a message is, and how one is refused.

import { LONGEST_SAID, quoted } from "../quoted.ts";
import { currentRequest } from "../request-context.ts";
import type { Piece } from "../rest/answer.ts";

/** The codes of JSON-RPC that the tool endpoint answers with. */
export const RPC = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  unsupportedRevision: -32_022,
  unsupportedHeader: -32_000,
} as const;

/** Messages in a batch, at most. */
export const LONGEST_BATCH = 10;

export type RequestId = string | number;

/** A call that expects an answer; its params have not been checked beyond being an object. */
export type RpcRequest = {
  jsonrpc: "2.0";
  id: RequestId;
  method: string;
  params?: Record<string, unknown>;
};

/** The reply to one message; without a body, an acknowledgement. */
export type Reply = { status: number; body?: string };

/** A reply; if it has a page in it, its text is in pieces. */
export type PagedReply = Omit<Reply, "body"> & { body?: string | readonly Piece[] };

/** A refusal in the form of JSON-RPC; id is null where the message had none that could be read. */
export function rpcError(
  id: RequestId | null,
  code: number,
  message: string,
  { status = 200, data }: { status?: number; data?: unknown } = {},
): Reply {
  const told = { ...(isObject(data) && data), requestId: currentRequest()?.id };
  return {
    status,
    body: JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data: told } }, shortened),
  };
}

/** Shortens long texts, except the id, by which the caller recognizes the reply. */
function shortened(name: string, value: unknown): unknown {
  return name !== "id" && typeof value === "string" ? quoted(value, LONGEST_SAID) : value;
}

/** Acknowledges a message that expects no answer. */
export const ACCEPTED: Reply = { status: 202 };

/** Whether a value is an object in the sense of JSON. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads one message.
 * @returns the request to be answered, or else the reply to what is not one: an acknowledgement of a notification or
 * of an answer, which a server that asks nothing has no use for; an error for anything that is not a message
 */
export function readMessage(value: unknown): { request: RpcRequest } | { reply: Reply } {
  if (!isObject(value)) {
    return invalid(
      null,
      'A message must be a JSON object: {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}.',
    );
  }
  const { jsonrpc, id, method, params } = value;
  const known = typeof id === "string" || Number.isSafeInteger(id) ? (id as RequestId) : null;
  if (jsonrpc !== "2.0") return invalid(known, 'A message must have "jsonrpc": "2.0".');
  if (method === undefined && ("result" in value || "error" in value)) return { reply: ACCEPTED };
  if (typeof method !== "string") return invalid(known, "A message must have a method, which is a string.");
  if (params !== undefined && !isObject(params)) return invalid(known, "params must be an object.");
  if (id === undefined) return { reply: ACCEPTED };
  if (known === null) return invalid(null, "id must be a string or an integer; a notification has none.");
  return { request: { jsonrpc, id: known, method, ...(params && { params }) } };
}

function invalid(id: RequestId | null, message: string): { reply: Reply } {
  return { reply: rpcError(id, RPC.invalidRequest, message, { status: 400 }) };
}
