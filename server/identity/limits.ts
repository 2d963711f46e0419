// How much one request may use.

/** The longest body of a request, as body parsers take it. */
export const BODY_LIMIT = "256kb";
