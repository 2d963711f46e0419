// Sends the answers of REST: with an ETag, and compressed for clients that accept it. Long answers are
// processed piece by piece, so that other requests wait for one piece at most.
import { createHash, hash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";
import type { Transform } from "node:stream";
import { promisify } from "node:util";
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from "node:zlib";
import type { Request, Response } from "express";
import Negotiator from "negotiator";
import { ApiError, namesProblem } from "../errors.ts";
import { noteUnwritten, requireRoom } from "../identity/undelivered.ts";

/** Shorter texts fit into the same packet as their headers. */
const WORTH_PACKING = 1_000;

/** Brotli's parameters. For long texts half the time is worth more than three quarters of the bytes. */
const quality = (level: number) => ({
  params: {
    [constants.BROTLI_PARAM_QUALITY]: level,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  },
});

type Packer = {
  whole: (text: string) => Promise<Buffer>;
  inPieces: () => Transform;
};

/** Best first. Answers are compressed before sending begins, as unread answers are limited by their bytes. */
const PACKERS: Readonly<Record<string, Packer>> = {
  br: {
    whole: (text) => promisify(brotliCompress)(text, quality(4)),
    inPieces: () => createBrotliCompress(quality(1)),
  },
  gzip: { whole: promisify(gzip), inPieces: () => createGzip({ level: constants.Z_BEST_SPEED }) },
};

/** A text that never changes, compressed, by encoding: in memory once, however many clients get it. */
export type Packed = Map<string | undefined, Promise<Buffer> | Buffer | string>;

/**
 * Sends a text, which is JSON unless the answer has a type already.
 * The client may cache it, but must revalidate it with If-None-Match; shared caches may not store it.
 * @param body the text, or its pieces; the response's headers may be set until the last piece
 * @param options.isPersonal not even the client may cache it: the next person may use the same browser
 * @param options.packed caches the compressed forms of a text that never changes
 */
export async function sendAnswer(
  request: Request,
  response: Response,
  body: string | AsyncIterable<string>,
  { isPersonal = false, packed }: { isPersonal?: boolean | undefined; packed?: Packed } = {},
): Promise<void> {
  const text = typeof body === "string" ? body : await textOrPieces(body);
  if (typeof text !== "string") {
    const packer = packerFor(request);
    const sha1 = createHash("sha1");
    const bytes = await inBytes(text, packer, (piece) => sha1.update(piece));
    describe(response);
    if (isKnown(request, response, () => sha1.digest("base64url"), isPersonal)) return;
    if (packer) response.set("content-encoding", packer);
    return sendPieces(response, bytes);
  }
  describe(response);
  if (isKnown(request, response, () => hash("sha1", text, "base64url"), isPersonal)) return;
  const packer = text.length < WORTH_PACKING ? undefined : packerFor(request);
  if (packer) response.set("content-encoding", packer);
  const made =
    packed?.get(packer) ?? (packer ? PACKERS[packer]!.whole(text) : packed ? Buffer.from(text) : text);
  packed?.set(packer, made);
  response.send(await made);
}

/** Sets the headers of every answer, only once it is there: a refusal in its place has others. */
function describe(response: Response): void {
  if (!response.get("content-type")) response.type("application/json");
  response.vary("accept-encoding, authorization, cookie");
}

/** The text, if it has only one piece; otherwise all its pieces. */
async function textOrPieces(pieces: AsyncIterable<string>): Promise<string | AsyncIterable<string>> {
  const all = pieces[Symbol.asyncIterator]();
  const first = await all.next();
  if (first.done) return "";
  const second = await all.next();
  if (second.done) return first.value;
  return (async function* () {
    try {
      yield first.value;
      for (let next: IteratorResult<string> = second; !next.done; next = await all.next()) yield next.value;
    } finally {
      // Their generator may hold something that it has to release.
      await all.return?.();
    }
  })();
}

/** The bytes of a text in pieces, compressed if asked. Other work gets its turn after each piece. */
async function inBytes(
  pieces: AsyncIterable<string>,
  packer: string | undefined,
  told: (piece: Buffer) => void,
): Promise<Buffer[]> {
  const made = async function* () {
    for await (const piece of pieces) {
      const bytes = Buffer.from(piece);
      told(bytes);
      yield bytes;
      await setImmediate();
    }
  };
  if (!packer) return Array.fromAsync(made());
  const packing = PACKERS[packer]!.inPieces();
  const [packed] = await Promise.all([Array.fromAsync<Buffer>(packing), pipeline(made, packing)]);
  return packed;
}

/** A part of a text; a long one as bytes, which are copied less often than long strings. */
export type Piece = string | Uint8Array;

/**
 * Sends the pieces of a text one after the other; the content type must be set already.
 * @throws ApiError service_busy if too many bytes of earlier answers wait to be read
 */
export async function sendPieces(response: Response, pieces: readonly Piece[]): Promise<void> {
  let bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  requireRoom(response, bytes);
  response.set("content-length", String(bytes));
  for (const piece of pieces) {
    bytes -= Buffer.byteLength(piece);
    noteUnwritten(response, bytes);
    response.write(piece);
    await setImmediate();
  }
  response.end();
}

/** Sets the caching headers, and answers 304 if the client has this answer already. */
function isKnown(request: Request, response: Response, hashed: () => string, isPersonal: boolean): boolean {
  if (["GET", "HEAD"].includes(request.method) && !isPersonal) {
    const etag = `W/"${hashed()}"`;
    response.set({ "cache-control": "private, no-cache", etag });
    if (!knows(request, etag)) return false;
    response.status(304).end();
    return true;
  }
  response.set("cache-control", "no-store");
  return false;
}

/**
 * Whether the client has this answer already. Express's request.fresh does not do: a browser's fetch adds
 * `Cache-Control: no-cache` to a request with If-None-Match, which Express takes to demand the full answer.
 */
function knows(request: Request, etag: string): boolean {
  const known = request
    .get("if-none-match")
    ?.split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""));
  return known !== undefined && (known.includes("*") || known.includes(etag.slice(2)));
}

/** The encoding that the client prefers; the best of those that it likes equally. undefined: none. */
function packerFor(request: Request): string | undefined {
  const preferred = Object.keys(PACKERS);
  // Its types describe an earlier version.
  const negotiator = new Negotiator(request) as unknown as {
    encoding: (available: string[], options: { preferred: string[] }) => string | undefined;
  };
  const chosen = negotiator.encoding([...preferred, "identity"], { preferred });
  return chosen === "identity" ? undefined : chosen;
}

/**
 * Refuses a request that accepts none of a route's media types. A client that names only the type for
 * problems is served: it says how it wants errors, and cannot mean that it wants no other answer.
 */
export function requireAcceptable(request: Request, types: string[]): void {
  if (request.accepts(types) || namesProblem(request)) return;
  throw new ApiError("not_acceptable", { message: `This route can answer with ${types.join(" and ")}.` });
}
