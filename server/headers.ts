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
 * Sent by the service's own pages with requests that change something, in addition to the session cookie.
 * Pages of other origins cannot send it: preflights do not allow it.
 */
export const SESSION_HEADER = "x-session-request";
