// How an answer of REST is sent: with what lets a client ask whether it has changed, and shorter for those who unpack it.
// A long one is gone through piece by piece: nobody else waits for more than one of them.
import { createHash, hash } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from "node:zlib";
import type { Request, Response } from "express";
import Negotiator from "negotiator";
import { ApiError, namesProblem } from "../errors.ts";

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
  inPieces: () => NodeJS.ReadWriteStream;
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
 * @param body the text, or its pieces
 * @param options.isPersonal that nobody at all may keep it: the next person may sit before the same browser
 * @param options.packed remembers how a text is packed that never changes
 */
export async function sendAnswer(
  request: Request,
  response: Response,
  body: string | readonly string[],
  { isPersonal = false, packed }: { isPersonal?: boolean | undefined; packed?: Packed } = {},
): Promise<void> {
  if (!response.get("content-type")) response.type("application/json");
  response.vary("accept-encoding, authorization, cookie");
  const sha1 = createHash("sha1");
  const pieces =
    typeof body === "string" || body.length === 1
      ? undefined
      : await inBytes(body, (piece) => sha1.update(piece));
  const text = pieces ? "" : String(body);
  if (["GET", "HEAD"].includes(request.method) && !isPersonal) {
    const etag = `W/"${pieces ? sha1.digest("base64url") : hash("sha1", text, "base64url")}"`;
    response.set({ "cache-control": "private, no-cache", etag });
    if (knows(request, etag)) {
      response.status(304).end();
      return;
    }
  } else {
    response.set("cache-control", "no-store");
  }
  const packer = !pieces && text.length < WORTH_PACKING ? undefined : packerFor(request);
  if (packer) response.set("content-encoding", packer);
  if (pieces) {
    const packing = packer && Readable.from(pieces, { objectMode: false }).pipe(PACKERS[packer]!.inPieces());
    response.send(packing ? await buffer(packing) : Buffer.concat(pieces));
    return;
  }
  const made =
    packed?.get(packer) ?? (packer ? PACKERS[packer]!.whole(text) : packed ? Buffer.from(text) : text);
  packed?.set(packer, made);
  response.send(await made);
}

async function inBytes(
  pieces: readonly string[],
  told: (piece: Buffer) => void = () => undefined,
): Promise<Buffer[]> {
  const bytes: Buffer[] = [];
  for (const piece of pieces) {
    const made = Buffer.from(piece);
    told(made);
    bytes.push(made);
    await setImmediate();
  }
  return bytes;
}

/** Sends a text of which there are pieces; the answer has its type already. */
export async function sendPieces(response: Response, pieces: readonly string[]): Promise<void> {
  response.send(Buffer.concat(await inBytes(pieces)));
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
