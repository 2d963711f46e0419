// The headers that the service reads or writes by name.

/** Sent by callers, in addition to those that every browser may send. */
export const REQUEST_HEADERS = {
  idempotencyKey: "idempotency-key",
  adminEmail: "x-admin-email",
  requestId: "x-request-id",
  mcpProtocolVersion: "mcp-protocol-version",
  mcpSessionId: "mcp-session-id",
  mcpMethod: "mcp-method",
  mcpName: "mcp-name",
} as const;

/** Sent to callers; a page from another origin may read them too. */
export const RESPONSE_HEADERS = {
  dataSource: "x-data-source",
  rateLimit: "ratelimit",
  rateLimitPolicy: "ratelimit-policy",
  retryAfter: "retry-after",
  authenticate: "www-authenticate",
  requestId: "x-request-id",
} as const;
