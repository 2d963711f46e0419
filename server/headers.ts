// The headers that the service reads or writes by name.

/** Sent by callers, in addition to those that every browser may send. */
export const REQUEST_HEADERS = {
  idempotencyKey: "idempotency-key",
  ifNoneMatch: "if-none-match",
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
  etag: "etag",
  link: "link",
  location: "location",
  limit: "x-limit",
  nextCursor: "x-next-cursor",
  rateLimit: "ratelimit",
  rateLimitPolicy: "ratelimit-policy",
  retryAfter: "retry-after",
  authenticate: "www-authenticate",
  requestId: "x-request-id",
} as const;

/**
 * Sent by the service's own pages with what changes something, beside the cookie of their session. No page of another
 * origin may send it: it is not among the headers that a preflight allows.
 */
export const SESSION_HEADER = "x-session-request";
