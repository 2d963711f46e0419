// Headers that are refused before anything parses them: those that are slow to parse, or ambiguous.
import type { RequestHandler } from "express";
import { ApiError } from "./errors.ts";

/**
 * In characters, per header. Parsing a list takes longer than the rest of a request: 30,000 media types kept
 * everybody waiting for a tenth of a second.
 */
const LONGEST = 8_192;
/** In characters, of a header's name in the refusal. */
const LONGEST_NAME = 100;
/** A token may be longer; identity/tokens.ts refuses one that is too long. */
const BOUNDED_ELSEWHERE = "authorization";

/**
 * Node takes the first of several, and a proxy before it may have checked another; or it joins them, and a request that a proxy
 * repeats with one key is another request.
 */
const GIVEN_ONCE = ["Host", "Authorization", "Idempotency-Key"];

/** Refuses headers that are too long, and requests whose host, caller or key is not clear. */
export const boundHeaders: RequestHandler = ({ headers, headersDistinct, httpVersion }, _response, next) => {
  const long = Object.entries(headers).filter(
    // Set-Cookie, which a request should not have, is a list.
    ([name, value = ""]) => String(value).length > LONGEST && name !== BOUNDED_ELSEWHERE,
  );
  // The code that answers the refusal would parse them.
  for (const [name] of long) headers[name] = undefined;
  if (long[0]) {
    const name = long[0][0].slice(0, LONGEST_NAME);
    throw new ApiError("headers_too_large", {
      message: `The header ${name} has more than ${LONGEST} characters.`,
    });
  }
  for (const name of GIVEN_ONCE) {
    const count = headersDistinct[name.toLowerCase()]?.length ?? 0;
    if (count > 1) throw ambiguous(`The header ${name} is given more than once.`);
  }
  if (headers.host === undefined && httpVersion === "1.1") throw ambiguous("The header Host is missing.");
  next();
};

function ambiguous(message: string): ApiError {
  return new ApiError("validation_failed", { message });
}
