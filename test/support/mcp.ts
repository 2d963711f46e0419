// The tool endpoint as its callers use it.
import { call } from "./service.ts";
import type { Answer, TestService } from "./service.ts";

export const TOOL = "churches_search_v1";

/** Sends one message, or what should be one, as curl would: without a handshake. */
export function post(
  service: TestService,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return call(`${service.url}/v0/mcp`, "POST", service.keys.read, body, headers);
}

/** A message that calls the tool with these inputs. */
export function toolCall(queryParams: unknown, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: TOOL, arguments: { queryParams }, ...more },
  };
}

/** What a message of revision 2026-07-28 says about itself, and the headers that repeat it. */
export const MODERN_META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

export function modernHeaders(method: string, name?: string): Record<string, string> {
  return {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": name }),
  };
}
