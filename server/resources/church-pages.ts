// Pages of the church search, short or long. A long one takes the database a few hundred milliseconds and this
// process one hundred, so it is made in parts, and other requests get their turn in between.
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../database.ts";
import type { Identity } from "../identity/identity.ts";
import { CallerGone } from "../postgres/unavailable.ts";
import { Shares } from "../shares.ts";

const PART = `select app_private.church_page_in_pieces(
  $1 -> 'query', ($1 ->> 'maxBytes')::bigint, ($1 ->> 'place')::jsonb)`;

/** A page of more churches than this is made in parts. */
const LONG_PAGE = 1_000;

/**
 * Each caller gets one long page at a time, from its first part to the compression of its last. However many
 * it asks for, no more than one part of one page is in work at any moment, or two processors would not be
 * enough. Callers compete for connections, but not for these turns: a few callers with all that they may have
 * would keep everyone else waiting.
 */
const TURNS = { slots: 100, perCaller: 1, slowMs: 1_000, patienceMs: 30_000, queuePerCaller: 20, queue: 500 };

/** A part that took longer was waiting for other callers, who would gain nothing from a longer pause. */
const LONGEST_REST_MS = 200;

// As app_private.church_page_in_pieces writes it.
const END_OF_PAGE = /"limit":(\d+),"has_more":(?:true|false),"next_cursor":(?:null|"([^"]*)")\}$/;

/** What the end of a page says about the page. */
type End = { limit: string; nextCursor?: string | undefined };

export class ChurchPages {
  readonly #database: Database;
  readonly #turns = new Shares(TURNS);

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Runs a church search: one page as JSON text, in pieces.
   * @param query checked by churchQuery
   * @param maxBytes of the page, which ends early, with a cursor, if it would be longer
   * @param told called before the last piece
   * @returns the pieces
   * @throws what PostgreSQL raised; ServiceBusy, CallerGone; apiErrorFrom turns these into answers
   */
  async *page(
    identity: Identity,
    query: Record<string, unknown>,
    maxBytes: number,
    told: (end: End) => void = () => undefined,
  ): AsyncGenerator<string, void> {
    const isLong = Number(query["limit"]) > LONG_PAGE;
    const giveBack = isLong ? await this.#turns.take(identity.id, identity.gone) : undefined;
    try {
      for (let place = isLong ? "{}" : undefined; ;) {
        const began = performance.now();
        const pieces = await this.#database.readPieces(identity, PART, { query, maxBytes, place });
        const last = pieces.pop() ?? "";
        yield* pieces;
        const [, limit, nextCursor] = END_OF_PAGE.exec(last) ?? [];
        if (limit !== undefined) {
          told({ limit, nextCursor });
          yield last;
          return;
        }
        place = last;
        // As long as the part took, including what the caller of this generator did with it.
        const restMs = Math.min(performance.now() - began, LONGEST_REST_MS);
        await sleep(restMs, undefined, { signal: identity.gone }).catch(() => {
          throw new CallerGone();
        });
      }
    } finally {
      giveBack?.();
    }
  }
}
