// The verification that nobody asks for: walks the whole graph step by step, round after round, in a share of the
// store's time. Its position is in the database, so another process goes on where this one ends.
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import type { Logger } from "pino";
import { GraphFailed, GraphTimeout, GraphUnavailable } from "../graph/store.ts";
import { explain } from "../process/explain.ts";
import { countDifferences, countSteps, nothingFound, verifyStep } from "./verify.ts";
import type { Position, VerifyOptions } from "./verify.ts";

export interface VerifierOptions extends VerifyOptions {
  logger: Logger;
  /** of the store's time, from 0 (never) to 1 */
  share: number;
  /** in which a round shall be done; longer where the share does not suffice, never if it is 0 */
  days: number;
  /** how often it is looked whether a round has become urgent, or the process that does them is gone, in milliseconds */
  lookMs?: number;
}

const DAY_MS = 86_400_000;
// Any number will do as long as all versions of this program agree on it.
const VERIFY_LOCK = 7203546;
const LOOK_MS = 5_000;

/** Starts the background verification of one process; of several processes one verifies at a time. */
export function startVerifier(options: VerifierOptions): { stop: () => Promise<void> } {
  const { pool, logger, share, lookMs = LOOK_MS } = options;
  const stopping = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await whileAlone(pool, (client) => verifyAll(client));
      } catch (error) {
        logger[isAway(error) ? "debug" : "warn"](
          { err: error },
          "the verification of the graph was interrupted",
        );
      }
      await pause(lookMs);
    }
  }

  const noteTrouble = (reason: string | null) =>
    pool
      .query("update app_private.graph_verification set trouble = $1 where trouble is distinct from $1", [
        reason,
      ])
      .catch(() => undefined);

  async function noteFailure(error: unknown): Promise<void> {
    // It would come to the same step again and again, and nobody could tell from outside.
    if (!isAway(error)) await noteTrouble(explain(error));
  }

  async function verifyAll(client: PoolClient): Promise<void> {
    let dueAt = 0;
    let steps: number | undefined;
    while (!stopping.signal.aborted) {
      const round = await readRound(client);
      if (!round.ready || (performance.now() < dueAt && !round.urgent)) {
        await pause(Math.min(lookMs, Math.max(dueAt - performance.now(), 100)));
        continue;
      }
      const isFirst = round.position.part === 0 && round.position.after === undefined;
      if (steps === undefined || isFirst) steps = await countSteps(pool);
      const began = performance.now();
      try {
        await step(client, round);
      } catch (error) {
        // Before the pause, which may take the most of an hour.
        await noteFailure(error);
        throw error;
      } finally {
        // After a failure as well: a step that always meets the store's time limit takes no more than its share either.
        const spentMs = performance.now() - began;
        const idleMs = spentMs / share - spentMs;
        dueAt = performance.now() + Math.max(idleMs, (options.days * DAY_MS) / steps - spentMs);
        await pause(idleMs);
      }
    }
  }

  async function step(client: PoolClient, { position }: Round): Promise<void> {
    const result = nothingFound();
    const next = await verifyStep(options, position, result);
    const found = countDifferences(result);
    if (found > 0) {
      logger.warn(
        { ...result.differences, repaired: result.repaired },
        "the graph differs from the tables, though nothing has failed",
      );
    }
    await client.query("select app_private.note_verification($1, $2, $3, $4, $5, $6)", [
      position.part,
      position.after,
      next?.part,
      next?.after,
      found,
      result.repaired,
    ]);
  }

  // Of one that is switched off nobody expects that it comes further.
  const running: Promise<unknown> = share > 0 && options.days > 0 ? run() : noteTrouble(null);
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** A store that is away is told of by whoever writes to it; one that fails on what only this asks is not. */
function isAway(error: unknown): boolean {
  const isAnswer = error instanceof GraphTimeout || error instanceof GraphFailed;
  return error instanceof GraphUnavailable && !isAnswer;
}

interface Round {
  position: Position;
  /** whether it goes on without regard to the time that a round may take */
  urgent: boolean;
  /** not while the graph is known to be behind: then there is nothing to be found out */
  ready: boolean;
}

async function readRound(client: PoolClient): Promise<Round> {
  const { rows } = await client.query<{
    part: string;
    after: string | null;
    urgent: boolean;
    ready: boolean;
  }>(
    `select v.part, v.after, v.urgent or v.verified_at is null as urgent, app_private.graph_is_comparable() as ready
     from app_private.graph_verification as v`,
  );
  const { part, after, urgent, ready } = rows[0]!;
  return { position: { part: Number(part), after: after ?? undefined }, urgent, ready };
}

async function whileAlone(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ alone: boolean }>("select pg_try_advisory_lock($1) as alone", [
      VERIFY_LOCK,
    ]);
    // A step may take minutes, in which nothing is asked here.
    await client.query("set idle_session_timeout = 0");
    if (rows[0]!.alone) await work(client);
  } finally {
    // Ends the session and, with it, the lock.
    client.release(true);
  }
}
