// Pages of the church search, short or long. A long one takes the database a few hundred milliseconds and this process one
// hundred, so it is made in parts, between which whatever else is asked has its turn.
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../database.ts";
import type { Identity } from "../identity/identity.ts";
import { CallerGone } from "../postgres/unavailable.ts";
import { Shares } from "../shares.ts";

const PART = `select app_private.church_page_in_pieces(
  $1 -> 'query', ($1 ->> 'maxBytes')::bigint, ($1 ->> 'place')::jsonb)`;

/** A page of more than this has parts. */
const LONG_PAGE = 1_000;

/**
 * Of one caller one long page is made at a time, from its first part to the packing of its last. However many it asks for, there
 * is never more than one part of the work of one of them under way, or two processors would not be enough. Callers share the
 * connections, and not these turns: a few of them with all that they may have would keep everybody else from theirs.
 */
const TURNS = { slots: 100, perCaller: 1, slowMs: 1_000, patienceMs: 30_000, queuePerCaller: 20, queue: 500 };

/** What takes longer than a part has waited for others, who would be none the better for a longer rest. */
const LONGEST_REST_MS = 200;

// As app_private.church_page_in_pieces writes it.
const END_OF_PAGE = /"limit":(\d+),"has_more":(?:true|false),"next_cursor":(?:null|"([^"]*)")\}$/;

/** What the end of a page says of it. */
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
   * @param maxBytes of the page, which ends early, with its cursor, where it would be longer
   * @returns the pieces, and with the last of them what it says of the page
   * @throws what PostgreSQL raised; ServiceBusy, CallerGone; apiErrorFrom turns it into what callers are told
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
        // For as long as the part has taken, with what was done with it.
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
