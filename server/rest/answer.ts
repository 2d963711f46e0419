// How an answer of REST is sent: with what lets a client ask whether it has changed, and shorter for those who unpack it.
// A long one is gone through piece by piece: nobody else waits for more than one of them.
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

/** Shorter texts fit into the packet that their headers take. */
const WORTH_PACKING = 1_000;

/** Of brotli; what is long is packed in half of the time rather than in three quarters of the bytes. */
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

/** Best first. What is sent is packed to its end before: what waits to be read is counted by what is left of the answer. */
const PACKERS: Readonly<Record<string, Packer>> = {
  br: {
    whole: (text) => promisify(brotliCompress)(text, quality(4)),
    inPieces: () => createBrotliCompress(quality(1)),
  },
  gzip: { whole: promisify(gzip), inPieces: () => createGzip({ level: constants.Z_BEST_SPEED }) },
};

/** A text that is always the same, as it was packed, by packer; however many are sent it, it is in memory once. */
export type Packed = Map<string | undefined, Promise<Buffer> | Buffer | string>;

/**
 * Sends a text, which is JSON unless the answer has a type already.
 * A client may keep what it has read, and is to ask with If-None-Match whether that still holds; nobody else may keep it.
 * @param body the text, or its pieces, whose headers may be set until the last of them
 * @param options.isPersonal that nobody at all may keep it: the next person may sit before the same browser
 * @param options.packed remembers how a text is packed that never changes
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

/** Says what every answer says, once it is there: a refusal in its place says something else. */
function describe(response: Response): void {
  if (!response.get("content-type")) response.type("application/json");
  response.vary("accept-encoding, authorization, cookie");
}

/** The one piece, or all that there are. */
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
      // Whoever makes them may have something to give back.
      await all.return?.();
    }
  })();
}

/** The bytes of a text of which there are pieces, packed or not: each piece when it comes, and no two of them at once. */
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

/** A part of a text: of a long one its bytes, which are not copied as often as long strings are. */
export type Piece = string | Uint8Array;

/**
 * Sends a text of which there are pieces, one after the other; the answer has its type already.
 * @throws ApiError service_busy where earlier answers wait to be read
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

/** Says what may be kept of an answer, and ends it where the client has it already. */
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
 * Whether the client has this answer already. Not as Express tells it (request.fresh): a browser's fetch adds
 * `Cache-Control: no-cache` to what is asked with If-None-Match, which asks for a look here and not for all of it again.
 */
function knows(request: Request, etag: string): boolean {
  const known = request
    .get("if-none-match")
    ?.split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""));
  return known !== undefined && (known.includes("*") || known.includes(etag.slice(2)));
}

/** What the client unpacks; where it would as soon have one as another, the best. */
function packerFor(request: Request): string | undefined {
  if (request.get("accept-encoding") === undefined) return undefined;
  const preferred = Object.keys(PACKERS);
  // Its types are those of an earlier version.
  const negotiator = new Negotiator(request) as unknown as {
    encoding: (available: string[], options: { preferred: string[] }) => string | undefined;
  };
  const chosen = negotiator.encoding([...preferred, "identity"], { preferred });
  return chosen === "identity" ? undefined : chosen;
}

/**
 * Refuses a request that accepts none of the types in which a route answers. Who names nothing but the type for problems
 * wants those in it, and cannot mean that there should be no answer otherwise.
 */
export function requireAcceptable(request: Request, types: string[]): void {
  if (request.accepts(types) || namesProblem(request)) return;
  throw new ApiError("not_acceptable", { message: `This route can answer with ${types.join(" and ")}.` });
}
