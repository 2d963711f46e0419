// The background verification: walks the whole graph step by step, round after round, in a share of the
// store's time. Its position is in the database, so another process continues where this one ends.
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import type { Logger } from "pino";
import { GraphFailed, GraphTimeout, GraphUnavailable } from "../graph/store.ts";
import { explain } from "../process/explain.ts";
import { countDifferences, countSteps, nothingFound, verifyStep } from "./verify.ts";
import type { Position, VerifyOptions } from "./verify.ts";

export interface VerifierOptions extends VerifyOptions {
  logger: Logger;
  /** share of the store's time, from 0 (never) to 1 */
  share: number;
  /** the days for one round; it takes longer if the share does not suffice, and 0 means never */
  days: number;
  /**
   * how often to look whether a round has become urgent, or the verifying process is gone, in milliseconds
   */
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
    pool.query("select app_private.note_verification_trouble($1)", [reason]).catch(() => undefined);

  async function noteFailure(error: unknown): Promise<void> {
    // Otherwise it would fail at the same step again and again, and nobody would see it from outside.
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
        // Before the pause, which may last most of an hour.
        await noteFailure(error);
        throw error;
      } finally {
        // After a failure as well: a step that always reaches the store's time limit takes
        // no more than its share either.
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

  // A verification that is switched off has no trouble to report.
  const running: Promise<unknown> = share > 0 && options.days > 0 ? run() : noteTrouble(null);
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/**
 * Whether the store is away, which the process that writes to it reports. A failure on a query that only the
 * verification sends is reported nowhere else.
 */
function isAway(error: unknown): boolean {
  const isAnswer = error instanceof GraphTimeout || error instanceof GraphFailed;
  return error instanceof GraphUnavailable && !isAnswer;
}

interface Round {
  position: Position;
  /** whether it goes on without spreading the round over its days */
  urgent: boolean;
  /** false while the graph is known to be behind, when a comparison would show nothing */
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
    // A step may take minutes, while this connection is idle.
    await client.query("set idle_session_timeout = 0");
    if (rows[0]!.alone) await work(client);
  } finally {
    // Ends the session and, with it, the lock.
    client.release(true);
  }
}
