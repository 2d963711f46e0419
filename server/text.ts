// Incoming text is UTF-8, or refused. A lenient decoder would store U+FFFD for what it could not read, or run
// another query than the caller sent.
import type { IncomingMessage } from "node:http";
import type { RequestHandler } from "express";
import { ApiError } from "./errors.ts";
import { REQUEST_HEADERS } from "./headers.ts";

/**
 * Decodes UTF-8.
 * @param what names the text in the refusal: "The query"
 * @throws ApiError 400 validation_failed
 */
export function decodeUtf8(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw notUtf8(what, error);
  }
}

const PERCENT = 0x25;

/** Values of hexadecimal digits by character code; -1 for other characters. */
const DIGITS = Int8Array.from({ length: 256 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(value) ? -1 : value;
});

/** Refuses percent-encoding that is not UTF-8; URLSearchParams and querystring would replace it. */
export function requireUtf8Encoding(encoded: string, what: string): void {
  const bytes = Buffer.from(encoded, "latin1");
  let length = 0;
  // Not with a regular expression: a URL of nothing but escapes would take a twentieth of a second.
  for (let at = 0; at < bytes.length; at += 1, length += 1) {
    const high = DIGITS[bytes[at + 1] ?? 0]!;
    const low = DIGITS[bytes[at + 2] ?? 0]!;
    const isEncoded = bytes[at] === PERCENT && high >= 0 && low >= 0;
    bytes[length] = isEncoded ? 16 * high + low : bytes[at]!;
    if (isEncoded) at += 2;
  }
  decodeUtf8(bytes.subarray(0, length), what);
}

/** Levels of arrays and objects. Libraries walk through them recursively, which works for some thousand. */
const DEEPEST_JSON = 100;
/**
 * The smallest value takes two bytes of a body, which may be compressed by a factor of some hundreds, and up
 * to two hundred bytes of the heap for as long as a request waits.
 */
const MOST_VALUES = 5_000;

/**
 * Refuses JSON that is nested too deeply, or has too many values. Character by character: in malformed text,
 * a regular expression for strings would search everything that follows again for each quotation mark.
 */
function requireSmall(text: string, what: string): void {
  let depth = 0;
  let values = 0;
  let isString = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === '"') isString = !isString;
    else if (isString) at += sign === "\\" ? 1 : 0;
    else if (sign === "[" || sign === "{") depth += 1;
    else if (sign === "]" || sign === "}") depth -= 1;
    // The first value of a list or object is counted with its bracket; an empty one takes as much memory.
    if (!isString && (sign === "[" || sign === "{" || sign === ",")) values += 1;
    if (depth > DEEPEST_JSON) {
      throw new ApiError("validation_failed", {
        message: `${what} is nested too deeply; ${DEEPEST_JSON} levels are the most.`,
      });
    }
    if (values > MOST_VALUES) {
      throw new ApiError("validation_failed", {
        message: `${what} has too many values; ${MOST_VALUES} are the most.`,
      });
    }
  }
}

/**
 * Parses JSON. Half of a surrogate pair, which JSON can express and UTF-8 cannot, is refused.
 * @param what names the text in the refusal
 * @throws ApiError 400 validation_failed
 */
export function parseJson(bytes: Uint8Array, what = "The body"): unknown {
  const text = decodeUtf8(bytes, what);
  requireSmall(text, what);
  try {
    // Checking every string takes several times as long as parsing, and such escapes are rare.
    return JSON.parse(text, SURROGATE_ESCAPE.test(text) ? requireWellFormed : undefined);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("validation_failed", { message: `${what} is not well-formed JSON.`, cause: error });
  }
}

/** For body parsers: checks a body of JSON before they parse it, and refuses what they would accept. */
export function verifyJson(
  _request: IncomingMessage,
  _response: unknown,
  body: Buffer,
  charset: string,
): void {
  if (charset !== "utf-8") throw otherCharset();
  const text = decodeUtf8(body, "The body");
  requireSmall(text, "The body");
  if (SURROGATE_ESCAPE.test(text)) parseJson(body);
}

/** Refuses a body in another encoding, by its content type. */
export function requireUtf8Charset(contentType = ""): void {
  if (/;\s*charset\s*=\s*"?[^";\s]/i.test(contentType.replaceAll(SENT_CHARSET, ""))) throw otherCharset();
}

/** Refuses a URL, or one of our request headers, that is not UTF-8; Node reads headers as Latin-1. */
export const requireUtf8: RequestHandler = (request, _response, next) => {
  requireUtf8Encoding(request.originalUrl, "The address");
  for (const name of Object.values(REQUEST_HEADERS)) {
    const value = request.get(name);
    if (value !== undefined)
      request.headers[name] = decodeUtf8(Buffer.from(value, "latin1"), `The header ${name}`);
  }
  next();
};

const ACCEPTED_CHARSET = /;\s*charset\s*=\s*"?utf-?8"?\s*(?=[;,]|$)/g;
// Whatever is US-ASCII is UTF-8.
const SENT_CHARSET = /;\s*charset\s*=\s*"?(?:utf-?8|us-ascii)"?\s*(?=;|$)/gi;

/**
 * Puts the headers Accept and Content-Type into lower case, in which doors and libraries compare media types,
 * and removes the charset UTF-8, in which every request and answer is, from them, however it is spelt: taken
 * literally, `application/json; charset=utf-8` is another type, and body parsers refuse `charset=utf8`.
 */
export const plainMediaTypes: RequestHandler = ({ headers }, _response, next) => {
  const accepted = headers.accept?.toLowerCase();
  if (accepted !== undefined) headers.accept = accepted.replaceAll(ACCEPTED_CHARSET, "");
  const type = headers["content-type"]?.toLowerCase();
  if (type !== undefined) headers["content-type"] = type.replaceAll(SENT_CHARSET, "");
  next();
};

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

function requireWellFormed(name: string, value: unknown): unknown {
  if (!name.isWellFormed() || (typeof value === "string" && !value.isWellFormed())) {
    throw new ApiError("validation_failed", {
      message: "The body contains half of a surrogate pair in a string.",
    });
  }
  return value;
}

function notUtf8(what: string, cause: unknown): ApiError {
  return new ApiError("validation_failed", { message: `${what} is not well-formed UTF-8.`, cause });
}

function otherCharset(): ApiError {
  return new ApiError("unsupported_media_type", { message: "Send the body in UTF-8." });
}
