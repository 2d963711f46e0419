// What a drain does step by step, with a store that fails at a chosen one.
import type { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import pg from "pg";
import { pino } from "pino";
import { createPool } from "../db/pool.ts";
import {
  GraphFailed,
  GraphRejected,
  GraphTimeout,
  GraphUnavailable,
  GraphUnconfirmed,
} from "../graph/store.ts";
import { requireUpdates } from "../graph/session.ts";
import { compareRecords } from "../worker/compare.ts";
import { drain } from "../worker/drain.ts";
import { hold, tryHold } from "../worker/hold.ts";
import type { Hold } from "../worker/hold.ts";
import { rebuild, rebuildNext } from "../worker/rebuild.ts";
import type { RebuildProgress } from "../worker/rebuild.ts";
import { readRecords } from "../worker/records.ts";
import { projectionStatus } from "../worker/status.ts";
import { verify } from "../worker/verify.ts";
import { watch } from "../worker/watch.ts";
import { eventually } from "./support/eventually.ts";
import { startMemoryGraph } from "./support/memory-graph.ts";
import type { MemoryGraph } from "./support/memory-graph.ts";
import { standBetween } from "./support/statements.ts";

let graph: MemoryGraph;
/** What is to happen every so many milliseconds, of what nobody has ended. */
let every: (ms: number) => (() => void)[];
beforeEach(async () => {
  const all = new Map<object, { work: () => void; ms: number }>();
  jest.spyOn(globalThis, "setInterval").mockImplementation(((work: () => void, ms: number) => {
    const handle = {};
    all.set(handle, { work, ms });
    return handle;
  }) as unknown as typeof setInterval);
  jest.spyOn(globalThis, "clearInterval").mockImplementation((handle) => void all.delete(handle as object));
  every = (ms) => [...all.values()].filter((each) => each.ms === ms).map(({ work }) => work);
  graph = await startMemoryGraph();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await graph.database.drop();
});

const states = async () => {
  const { rows } = await graph.database.owner.query<{
    id: string;
    state: string;
    errors: { message: string }[];
  }>("select record_id as id, state, errors from app_private.graph_records order by record_id");
  return rows;
};
/** Fails updates that contain a text. */
const failAt = (text: string, error: () => Error) => {
  graph.store.before = (call) => {
    if (call.name === "update" && call.text.includes(text)) throw error();
  };
};

/** A store, and a process that is told to end when something is put into it: whether the store has been told of that. */
const endingAtPut = () => {
  const ending = new AbortController();
  const isBrokenOff: unknown[] = [];
  const store: typeof graph.store = {
    ...graph.store,
    putGraph: (name, body, type, call) => {
      ending.abort();
      isBrokenOff.push(call?.signal?.aborted);
      call?.signal?.throwIfAborted();
      return graph.store.putGraph(name, body, type, call);
    },
  };
  return { store, ending, isBrokenOff };
};

/** A store at which whoever sends an update with a text loses the right to write: whether it has been told to break off. */
const losingTheRightAt = (sent: string) => {
  const isBrokenOff: unknown[] = [];
  const store: typeof graph.store = {
    ...graph.store,
    update: async (text, call) => {
      if (!text.includes(sent)) return graph.store.update(text, call);
      await graph.database.owner.query(
        `select pg_terminate_backend(pid, 60000) from pg_locks
         where locktype = 'advisory' and objid = 7203545 and granted
           and database = (select oid from pg_database where datname = current_database())`,
      );
      const isAborted = () => expect(call?.signal?.aborted).toBe(true);
      await eventually(isAborted, 10_000).catch(() => undefined);
      isBrokenOff.push(call?.signal?.aborted);
      call?.signal?.throwIfAborted();
    },
  };
  return { store, isBrokenOff };
};

describe("a drain", () => {
  test("that finds nothing looks once", async () => {
    const between = standBetween(graph.database.owner);
    expect(await drain({ ...graph.options, pool: between.pool })).toEqual({ state: "drained", records: 0 });
    expect(between.count("take_wakeups")).toBe(1);
  });

  test("leaves what a writer holds when its time is over", async () => {
    const [id] = await graph.declareNeeds(1);
    const writer = new pg.Client(graph.database.url);
    await writer.connect();
    try {
      await writer.query("begin");
      await writer.query("select from app_private.graph_records where record_id = $1 for update", [id]);
      const between = standBetween(graph.database.owner);
      // Who does not stop would wait for the writer.
      between.before = async (text) => {
        if (text.includes("graph_behind_since") && between.count("graph_behind_since") > 1)
          await writer.query("commit");
      };
      const ended = await drain({ ...graph.options, pool: between.pool }, undefined, 0);
      expect(ended.state).toBe("interrupted");
    } finally {
      await writer.end();
    }
  });

  test("sends what a writer holds once, and from then on only what is free", async () => {
    const [held] = await graph.declareNeeds(7);
    const { owner } = graph.database;
    await owner.query(
      "update app_private.graph_records set dirty_since = now() - interval '1 hour' where record_id = $1",
      [held],
    );
    // All in one turn.
    jest.spyOn(performance, "now").mockReturnValue(0);
    const writer = new pg.Client(graph.database.url);
    await writer.connect();
    // Whoever waits for the writer, also to note what is written, is told so.
    const pool = createPool(graph.database.url, { max: 2, lock_timeout: 5_000 });
    try {
      await writer.query("begin");
      await writer.query("select from app_private.graph_records where record_id = $1 for update", [held]);
      const ending = new AbortController();
      const times = () => graph.store.count("update", held);
      // Whoever sends it once more could go on with that for ever.
      graph.store.before = () => {
        if (times() > 1) ending.abort();
      };
      const ended = await drain({ ...graph.options, pool, batchSize: 1 }, ending.signal, 0);
      expect(times()).toBe(1);
      expect(ended).toEqual({ state: "interrupted", records: 6 });
    } finally {
      await writer.end();
      await pool.end();
    }
  });

  test("does not wait for whoever is making another edition of a list, and writes the others", async () => {
    const { owner } = graph.database;
    await owner.query("update app_private.graph_references set revision = revision + 1");
    const writer = new pg.Client(graph.database.url);
    await writer.connect();
    await writer.query("begin");
    await writer.query("select from app_private.graph_references where name = 'countries' for update");
    let isOver = false;
    const ended = drain(graph.options, undefined, 0).finally(() => (isOver = true));
    try {
      await eventually(async () => {
        const { rowCount } = await owner.query(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        );
        expect(isOver || rowCount !== 0).toBe(true);
      });
    } finally {
      await writer.end();
    }
    await ended;
    const { rows } = await owner.query(
      "select name from app_private.graph_references where revision is distinct from synced_revision",
    );
    expect(rows).toEqual([{ name: "countries" }]);
  });

  test("takes up again what the store has refused once that is due, and not before", async () => {
    await graph.declareNeeds(1);
    failAt("Wells", () => new GraphRejected(400, "no"));
    await drain(graph.options, undefined, 0);
    graph.store.before = () => undefined;
    await drain(graph.options, undefined, 0);
    expect([(await states())[0]!.state, await graph.described()]).toEqual(["rejected", 0]);
    const { rows } = await graph.database.owner.query(
      "select retry_at > now() as is_later, refusals::integer from app_private.graph_records",
    );
    expect(rows).toEqual([{ is_later: true, refusals: 1 }]);
    await graph.database.owner.query("update app_private.graph_records set retry_at = now()");
    await drain(graph.options, undefined, 0);
    expect([(await states())[0]!.state, await graph.described()]).toEqual(["synced", 1]);
  });

  test("gives its connection back only when nothing is under way on it", async () => {
    await graph.declareNeeds(2);
    failAt("Wells", () => new GraphUnavailable("away"));
    const between = standBetween(graph.database.owner);
    const gate = Promise.withResolvers<void>();
    between.before = async (text) => {
      // The records of the second batch, while the first is being sent.
      if (text.includes("read_lists") && between.count("read_lists") > 1) await gate.promise;
    };
    const ended = drain({ ...graph.options, pool: between.pool, batchSize: 1 });
    await eventually(() => {
      expect([between.count("read_lists"), graph.store.count("update", "Wells")]).toEqual([2, 2]);
    });
    // Time for whoever does not wait.
    for (let i = 0; i < 50; i += 1) await graph.database.owner.query("select");
    expect(between.count("pg_advisory_unlock")).toBe(0);
    gate.resolve();
    expect((await ended).state).toBe("store_unavailable");
    expect(between.count("pg_advisory_unlock")).toBe(1);
  });

  test("sends a record that is refused three times, tells why within bounds, and brings in the others", async () => {
    const ids = await graph.declareNeeds(8);
    await graph.database.owner.query(
      "update app_public.needs set need_description = 'Rain' where need_id = $1",
      [ids[3]],
    );
    const times = () => graph.store.count("update", "Rain");
    failAt("Rain", () => new GraphRejected(400, `no ${times()} ${"x".repeat(400)}`));
    expect((await drain(graph.options)).state).toBe("drained");
    const after = await states();
    expect(after.map(({ state }) => state)).toEqual(ids.map((_, i) => (i === 3 ? "rejected" : "synced")));
    // With seven others, with three, with one, and three times alone: what it said last is told.
    expect(times()).toBe(6);
    expect(after[3]!.errors[0]!.message).toBe(`The graph store refused the record: no 6 ${"x".repeat(295)}`);
    expect(await graph.described()).toBe(7);
  });

  test("removes a deleted record though another one of its batch is refused", async () => {
    const ids = await graph.declareNeeds(4);
    await drain(graph.options);
    await graph.database.owner.query("delete from app_public.needs where need_id = $1", [ids[0]]);
    await graph.database.owner.query("update app_public.needs set need_description = 'Rain'");
    failAt("Rain", () => new GraphFailed("out of memory"));
    await drain(graph.options);
    expect((await states()).map(({ state }) => state)).toEqual([
      "synced",
      "rejected",
      "rejected",
      "rejected",
    ]);
    expect(await graph.described()).toBe(0);
  });

  test("blames no record for a store that takes nothing", async () => {
    await graph.declareNeeds(2);
    graph.store.before = ({ name }) => {
      if (name === "update") throw new GraphRejected(400, "read only");
    };
    expect(await drain(graph.options)).toMatchObject({ state: "store_unavailable" });
    expect((await states()).map(({ state }) => state)).toEqual(["pending", "pending"]);
  });

  test("blames no record for a store that took nothing for a moment", async () => {
    await graph.declareNeeds(1);
    let failures = 3;
    graph.store.before = ({ name }) => {
      if (name === "update" && failures-- > 0) throw new GraphRejected(400, "read only");
    };
    expect(await drain(graph.options)).toMatchObject({ state: "store_unavailable" });
    expect((await states()).map(({ state }) => state)).toEqual(["pending"]);
  });

  test("breaks off at the store what it has sent when its process ends", async () => {
    await graph.declareNeeds(1);
    const ending = new AbortController();
    const isBrokenOff: unknown[] = [];
    const store: typeof graph.store = {
      ...graph.store,
      update: (text, call) => {
        if (text.includes("Wells")) {
          ending.abort();
          isBrokenOff.push(call?.signal?.aborted);
        }
        return graph.store.update(text, call);
      },
    };
    // What is left to do is nothing to go on for.
    expect(await drain({ ...graph.options, store }, ending.signal, 0)).toMatchObject({ state: "drained" });
    expect(isBrokenOff).toEqual([true]);
  });

  test("breaks off at the store what it has sent when it loses the right to write", async () => {
    await graph.declareNeeds(1);
    const { store, isBrokenOff } = losingTheRightAt("Wells");
    for (const stopping of [new AbortController().signal, undefined])
      await expect(drain({ ...graph.options, store }, stopping)).rejects.toThrow();
    expect(isBrokenOff).toEqual([true, true]);
  });

  test("that is a verification's breaks off what it removes when the right to write is lost", async () => {
    await graph.store.update(`INSERT DATA { GRAPH <${graph.needs}> { <urn:x-foreign> <urn:p> "o" } }`);
    const { store, isBrokenOff } = losingTheRightAt("urn:x-foreign");
    await expect(verify({ ...graph.options, store, repair: true })).rejects.toThrow();
    expect(isBrokenOff).toEqual([true]);
  });

  test("breaks off at the store the list that it sends when its process ends", async () => {
    await graph.database.owner.query("update app_private.graph_references set revision = revision + 1");
    const { store, ending, isBrokenOff } = endingAtPut();
    await drain({ ...graph.options, store }, ending.signal).catch(() => undefined);
    expect(isBrokenOff).toEqual([true]);
  });

  test("writes the other lists when one is refused, and tells of that one", async () => {
    const said: unknown[] = [];
    const logger = pino({ level: "error" }, { write: (line) => void said.push(JSON.parse(line)) });
    const kenya = graph.options.projector.names.country("KE");
    graph.store.before = ({ name, text }) => {
      if (name === "putGraph" && text.includes(kenya)) throw new GraphRejected(400, "no");
    };
    await graph.database.owner.query("update app_private.graph_references set revision = revision + 1");
    await drain({ ...graph.options, logger }, undefined, 0);
    const { rows } = await graph.database.owner.query(
      "select name, refusals::integer from app_private.graph_references where revision is distinct from synced_revision",
    );
    expect(rows).toEqual([{ name: "countries", refusals: 1 }]);
    expect(said).toMatchObject([{ list: "countries", msg: "a list could not be written to the graph" }]);
  });

  test("counts the records of all its batches", async () => {
    await graph.declareNeeds(5);
    expect(await drain({ ...graph.options, batchSize: 2 })).toEqual({ state: "drained", records: 5 });
  });

  test("of a process that is ending begins nothing, neither records nor lists", async () => {
    await graph.declareNeeds(1);
    const due = () => graph.database.owner.query("select name from app_private.due_references order by name");
    const { rows: before } = await due();
    expect(before).toContainEqual({ name: "countries" });
    expect(await drain(graph.options, AbortSignal.abort())).toEqual({ state: "drained", records: 0 });
    expect((await due()).rows).toEqual(before);
  });

  test("is busy, and writes nothing, while somebody else has the right to write", async () => {
    await graph.declareNeeds(1);
    await hold(graph.options, async () => {
      expect(await drain(graph.options)).toEqual({ state: "busy" });
    });
    expect((await states()).map(({ state }) => state)).toEqual(["pending"]);
  });
});

describe("the right to write", () => {
  test("is spoken of by whoever has it every ten seconds, and no longer", async () => {
    const between = standBetween(graph.database.owner);
    await hold({ ...graph.options, pool: between.pool }, async () => {
      const before = between.count("note_graph_held");
      const works = every(10_000);
      expect(works).toHaveLength(1);
      works[0]!();
      expect(between.count("note_graph_held")).toBe(before + 1);
      await Promise.resolve();
    });
    expect(every(10_000)).toEqual([]);
  });

  test("is waited for and kept though the database takes no word of either for a moment", async () => {
    const between = standBetween(graph.database.owner);
    const failing: string[] = [];
    between.before = async (text) => {
      if (/^select app_private\.(end_silent_graph_holder|note_graph_held)\(/.test(text.trim())) {
        failing.push(text);
        throw new Error("too many clients already");
      }
      if (!text.includes("pg_advisory_lock")) return;
      for (const look of every(10_000)) look();
      // A failure that nobody has taken ends the process in the next turn.
      await turn();
    };
    await hold({ ...graph.options, pool: between.pool }, async () => {
      for (const beat of every(10_000)) beat();
      await turn();
    });
    expect(failing).toHaveLength(2);
  });

  test("ends with a machine that is gone without a word, and leaves nothing at its connection", async () => {
    const seen: { client: unknown; listeners: number; idle: string }[] = [];
    for (let i = 0; i < 3; i += 1) {
      await hold(graph.options, async ({ client }) => {
        const { rows } = await client.query<{ idle: string }>(
          "select reset_val || ' ' || setting as idle from pg_settings where name = 'tcp_keepalives_idle'",
        );
        seen.push({ client, listeners: client.listenerCount("error"), idle: rows[0]!.idle });
      });
    }
    // The same connection each time.
    expect(new Set(seen.map(({ client }) => client)).size).toBe(1);
    expect(new Set(seen.map(({ listeners }) => listeners)).size).toBe(1);
    expect(seen[0]!.idle).toMatch(/ 10$/);
  });

  test("is not lost because a store takes long, in which its connection is asked nothing", async () => {
    const { owner } = graph.database;
    const idle = "show idle_session_timeout";
    const client = await owner.connect();
    await client.query("set idle_session_timeout = '1min'");
    client.release();
    const seen = await hold(
      graph.options,
      async (held) => (await held.client.query<Record<string, string>>(idle)).rows,
    );
    expect(seen).toEqual([{ idle_session_timeout: "0" }]);
  });

  test("is given back when work fails, and the failure is told", async () => {
    await expect(hold(graph.options, () => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
    expect(await tryHold(graph.options, () => Promise.resolve("got it"))).toBe("got it");
  });

  test("is lost with its connection, which goes to nobody else", async () => {
    const { owner } = graph.database;
    await hold(graph.options, async ({ client, lost }) => {
      const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
      const isLost = new Promise((resolve) => lost.addEventListener("abort", resolve));
      // Waits until it is gone, and its locks with it.
      await owner.query("select pg_terminate_backend($1, 60000)", [rows[0]!.pid]);
      await isLost;
    });
    expect(await tryHold(graph.options, () => Promise.resolve("got it"))).toBe("got it");
  });
});

describe("an update", () => {
  const nothing = ({ note }: { note: string }) => note;
  const inSession = <T>(work: (held: Hold) => Promise<T>, more = {}) =>
    hold({ ...graph.options, ...more }, work);

  test.each([
    ["is sent once more where nobody answered", () => new GraphUnavailable("away"), 2],
    ["is not sent again where it may still be done", () => new GraphTimeout("late"), 1],
    ["is not sent again where it was refused", () => new GraphRejected(400, "no"), 1],
  ])("%s", async (_, error, times) => {
    await inSession(async ({ session }) => {
      graph.store.calls.length = 0;
      failAt("", error);
      await expect(session.update([], nothing)).rejects.toThrow(error());
      expect(graph.store.count("update")).toBe(times);
    });
  });

  test("that fails once is done when it is sent again, and counts once", async () => {
    await inSession(async ({ session, drain: number }) => {
      let failures = 1;
      graph.store.before = ({ name }) => {
        if (name === "update" && failures-- > 0) throw new GraphUnavailable("away");
      };
      expect(await session.update(["need"], nothing)).toBe(number * 1_000_000n + 1n);
      expect(session.last()).toBe(number * 1_000_000n + 1n);
    });
  });

  test("is not sent again when nobody wants it any more", async () => {
    await inSession(async ({ session }) => {
      const caller = new AbortController();
      graph.store.calls.length = 0;
      failAt("", () => {
        caller.abort();
        return new GraphUnavailable("away");
      });
      await expect(session.update([], nothing, caller.signal)).rejects.toThrow("away");
      expect(graph.store.count("update")).toBe(1);
    });
  });

  test("that is swallowed does not count, and the next one does", async () => {
    const swallowing = { ...graph.store, update: () => Promise.resolve() };
    let isSwallowing = true;
    const store = {
      ...graph.store,
      update: (text: string) => (isSwallowing ? swallowing.update() : graph.store.update(text)),
    };
    await inSession(
      async ({ session }) => {
        const before = session.last();
        let outcome: unknown;
        session.update(["need"], nothing).catch((error: unknown) => (outcome = error));
        // No copy lags: nothing would be gained by waiting as long as one may.
        await eventually(() => expect(outcome).toBeInstanceOf(GraphUnconfirmed), 10_000);
        expect(session.last()).toBe(before);
        isSwallowing = false;
        const turn = await session.update(["need"], nothing);
        expect(session.last()).toBe(turn);
      },
      { store },
    );
  });

  test.each([
    ["current", "lagging", true],
    ["unconfirmed", "unconfirmed", true],
    // That it cannot be told is no reason to wait no longer.
    ["current", "current", false],
  ])(
    "that the copy behind queries does not show yet is waited for, which is told once: a graph that was %s is %s, if it can be told: %s",
    async (was, is, canBeTold) => {
      let stale: Awaited<ReturnType<MemoryGraph["store"]["select"]>> | undefined;
      let asked = 0;
      const store = {
        ...graph.store,
        select: async (text: string) => {
          if (!stale) return graph.store.select(text);
          asked += 1;
          // The copy catches up at the fifth look.
          return asked < 5 ? stale : graph.store.select(text);
        },
        update: async (text: string) => {
          stale = await lastMark();
          await graph.store.update(text);
        },
      };
      let mark = "";
      const lastMark = () => graph.store.select(mark);
      graph.store.before = ({ name, text }) => {
        if (name === "select" && text.includes("OPTIONAL { GRAPH")) mark = text;
      };
      await inSession(({ session }) => session.update([], nothing));
      const { owner } = graph.database;
      await owner.query("select app_private.note_graph_state($1, 'swallowed')", [was]);
      const between = standBetween(owner);
      between.before = (text) => {
        if (text.includes("'lagging'") && !canBeTold) throw new Error("too many clients already");
      };
      await inSession(
        async ({ session }) => {
          const turn = await session.update([], nothing);
          expect(session.last()).toBe(turn);
        },
        { store, pool: between.pool },
      );
      expect(asked).toBe(5);
      await eventually(async () => {
        const { rows } = await owner.query("select state from app_private.graph_store");
        expect(rows).toEqual([{ state: is }]);
      }, 5_000);
      expect(between.count("'lagging'")).toBe(1);
    },
  );

  test("beside which another one is seen does not count", async () => {
    await inSession(async ({ session }) => {
      const { names } = graph.options.projector;
      graph.store.after = async ({ name }) => {
        if (name !== "update") return;
        graph.store.after = () => undefined;
        // Of the same drain, as from an engine that does one while it does the other.
        await graph.store.update(
          `INSERT DATA { GRAPH <${names.turnsGraph}> { <${names.turnsGraph}> <${names.ns("projectionTurn")}> 1 } }`,
        );
      };
      await expect(session.update([], nothing)).rejects.toThrow("Two updates have overlapped");
    });
  });

  test("after which somebody else's is seen does not count", async () => {
    await inSession(async ({ session, drain: number }) => {
      const { names } = graph.options.projector;
      const turn = `<${names.turnsGraph}> <${names.ns("projectionTurn")}>`;
      graph.store.after = async ({ name }) => {
        if (name !== "update") return;
        graph.store.after = () => undefined;
        await graph.store.update(
          `DELETE { GRAPH <${names.turnsGraph}> { ${turn} ?t } } INSERT { GRAPH <${names.turnsGraph}> { ${turn} ${(number + 1n) * 1_000_000n} } }
           WHERE { GRAPH <${names.turnsGraph}> { ${turn} ?t } }`,
        );
      };
      await expect(session.update([], nothing)).rejects.toThrow("Another process has written");
    });
  });

  test("without content tells a store that takes nothing from one that is away", async () => {
    await inSession(async ({ session }) => {
      failAt("", () => new GraphRejected(400, "read only"));
      const refused = requireUpdates(session, undefined);
      await expect(refused).rejects.toThrow("The graph store refuses every update: read only");
      await expect(refused).rejects.toBeInstanceOf(GraphUnavailable);
      failAt("", () => new GraphTimeout("late"));
      await expect(requireUpdates(session, undefined)).rejects.toBeInstanceOf(GraphTimeout);
    });
  });

  test("that changed no graph is known to the next one who has the right", async () => {
    const turn = await inSession(({ session }) => session.update([], nothing));
    const { rows } = await graph.database.owner.query<{ turn: string }>(
      "select turn from app_private.graph_store",
    );
    expect(rows).toEqual([{ turn: String(turn) }]);
    expect(await watch(graph.options)).toBe("whole");
  });
});

describe("a rebuild", () => {
  const requested = async () => {
    const { rows } = await graph.database.owner.query<{ kind: string }>(
      "select kind from app_private.graph_rebuilds where requested_at is not null order by kind::text",
    );
    return rows.map(({ kind }) => kind);
  };

  test("gives its connection back in order when the store breaks off in the middle", async () => {
    await graph.declareNeeds(1_500);
    let times = 0;
    const store = {
      ...graph.store,
      async putGraph(_: string, body: string | Readable) {
        times += 1;
        // Until the records begin.
        for await (const piece of body)
          if (String(piece).includes("Wells")) throw new GraphTimeout("too slow");
      },
    };
    // The lists are there already, and the other graphs are empty.
    await drain(graph.options);
    await graph.database.owner.query(
      `update app_private.graph_rebuilds set requested_at = now() where kind = 'need';
       update app_private.graph_verification set urgent = false`,
    );
    expect(await rebuildNext({ ...graph.options, store })).toBe(true);
    // What takes too long would take as long again.
    expect(times).toBe(1);
    const { rows } = await graph.database.owner.query(
      "select state from pg_stat_activity where datname = current_database() and state like 'idle in%'",
    );
    expect(rows).toEqual([]);
    expect(await requested()).toEqual([]);
    // What cannot be sent whole is sent record by record, and looked at.
    expect((await states()).filter(({ state }) => state === "pending")).toHaveLength(1_500);
    const { rows: verification } = await graph.database.owner.query(
      "select urgent from app_private.graph_verification",
    );
    expect(verification).toEqual([{ urgent: true }]);
  });

  test("breaks off at the store the graph that it sends when its process ends", async () => {
    await graph.declareNeeds(1);
    await drain(graph.options);
    await graph.database.owner.query(
      "update app_private.graph_rebuilds set requested_at = now() where kind = 'need'",
    );
    const { store, ending, isBrokenOff } = endingAtPut();
    await rebuildNext({ ...graph.options, store }, ending.signal).catch(() => undefined);
    expect(isBrokenOff).toEqual([true]);
    expect(await requested()).toEqual(["need"]);
  });

  test.each<[what: string, isAt: (text: string, refusals: number) => boolean]>([
    ["asks whether the store takes anything", (_, refusals) => refusals === 1],
    ["asks that once more", (_, refusals) => refusals === 2],
    ["removes what is foreign", (text) => text.includes("urn:x-foreign")],
  ])("breaks off at the store what it sends when its process ends while it %s", async (_, isAt) => {
    await graph.declareNeeds(1);
    await drain(graph.options);
    const { need } = graph.options.projector.names.graphs;
    await graph.store.update(`INSERT DATA { GRAPH <${need}> { <urn:x-foreign> <urn:p> "o" } }`);
    await graph.database.owner.query(
      "update app_private.graph_rebuilds set requested_at = now() where kind = 'need'",
    );
    const ending = new AbortController();
    const isBrokenOff: unknown[] = [];
    let refusals = 0;
    const store: typeof graph.store = {
      ...graph.store,
      putGraph: () => {
        refusals += 1;
        return Promise.reject(new GraphRejected(400, "too large"));
      },
      update: async (text, call) => {
        if (isAt(text, refusals)) {
          ending.abort();
          isBrokenOff.push(call?.signal?.aborted);
          call?.signal?.throwIfAborted();
        }
        return graph.store.update(text, call);
      },
    };
    await rebuildNext({ ...graph.options, store }, ending.signal).catch(() => undefined);
    expect(isBrokenOff).toEqual([true]);
    expect(await requested()).toEqual(["need"]);
  });

  test("tells how far it is, for the last time when it is over", async () => {
    await graph.declareNeeds(2);
    const told: RebuildProgress[] = [];
    const end = { total: 2, written: 2, rejected: 0 };
    graph.store.before = async ({ name, text }) => {
      if (name !== "putGraph" || !text.includes("Wells")) return;
      for (const look of every(200)) look();
      await eventually(() => expect(told).toEqual([{ ...end, written: expect.any(Number) }]));
    };
    expect(await rebuild(graph.options, (progress) => void told.push(progress))).toEqual(end);
    expect(told.at(-1)).toEqual(end);
    expect(told).toHaveLength(2);
    expect(every(200)).toEqual([]);
  });

  test("goes on when the database does not say how far it is", async () => {
    await graph.declareNeeds(1);
    const between = standBetween(graph.database.owner);
    graph.store.before = async ({ name, text }) => {
      if (name !== "putGraph" || !text.includes("Wells")) return;
      between.before = (statement) => {
        if (!statement.includes("sum(total)")) return;
        between.before = () => undefined;
        throw new Error("too many clients already");
      };
      for (const look of every(200)) look();
      await eventually(() => expect(between.count("sum(total)")).toBe(1));
    };
    const told: RebuildProgress[] = [];
    const end = { total: 1, written: 1, rejected: 0 };
    expect(
      await rebuild({ ...graph.options, pool: between.pool }, (progress) => void told.push(progress)),
    ).toEqual(end);
    expect(told).toEqual([end]);
  });

  test.each([
    [false, "rebuilding"],
    [true, "behind"],
  ])(
    "that is a repair (%s) says so, and what is refused is no later state of its graph",
    async (isRepair, state) => {
      const { owner } = graph.database;
      await graph.declareNeeds(1);
      await drain(graph.options);
      const seen: unknown[] = [];
      graph.store.before = async ({ name, text }) => {
        if (name !== "putGraph" || !text.includes("Wells")) return;
        const { rows } = await owner.query("select state, reason from app_private.graph_store");
        seen.push(...rows);
      };
      const again = async () => {
        await owner.query(
          "update app_private.graph_rebuilds set requested_at = now(), is_repair = $1 where kind = 'need'",
          [isRepair],
        );
        expect(await rebuildNext(graph.options)).toBe(true);
        const { rows } = await owner.query<{ turn: string; is_repair: boolean }>(
          "select turn, is_repair from app_private.graph_rebuilds where kind = 'need'",
        );
        return rows[0]!;
      };
      const { turn, is_repair } = await again();
      expect(seen).toEqual([{ state, reason: "Its named graphs are being replaced." }]);
      expect([Number(turn) > 0, is_repair]).toEqual([true, false]);
      graph.store.before = ({ name }) => {
        if (name === "putGraph") throw new GraphRejected(400, "too large");
      };
      expect(await again()).toEqual({ turn, is_repair });
    },
  );

  test("that nobody answers is still wanted, whole", async () => {
    await graph.declareNeeds(1);
    graph.store.before = ({ name }) => {
      if (name === "putGraph") throw new GraphUnconfirmed("swallowed");
    };
    await expect(rebuild(graph.options)).rejects.toThrow(GraphUnconfirmed);
    expect(await requested()).toEqual(["commitment", "engagement_claim", "need"]);
  });
});

test("a record that the load check keeps out of the graph is a difference only where it counts as being in it", async () => {
  const [id] = await graph.declareNeeds(1);
  const check: typeof graph.options.projector.check = (records) =>
    Promise.resolve(new Map(records.map(({ iri }) => [iri, [{ path: "", message: "No." }]])));
  const options = { ...graph.options, projector: { ...graph.options.projector, check } };
  await drain(options);
  const compared = async () =>
    compareRecords("need", await readRecords(options.pool, "need", [id!]), options);
  expect([(await states())[0]!.state, await compared()]).toEqual([
    "rejected",
    { differing: new Map(), pending: 0 },
  ]);
  await graph.database.owner.query("update app_private.graph_records set state = 'synced'");
  expect(await compared()).toEqual({ differing: new Map([[id, "foreign"]]), pending: 0 });
});

test("what the graph holds is counted for each kind; a graph that is not there has nothing", async () => {
  await graph.declareNeeds(2);
  await drain(graph.options);
  const count = async () => {
    const { options } = graph;
    const { graphs, storeAvailable } = await projectionStatus(
      options.pool,
      graph.store,
      options.projector.names,
    );
    return {
      storeAvailable,
      triples: Object.fromEntries(graphs.map(({ kind, triples }) => [kind, triples])),
      names: Object.fromEntries(graphs.map((each) => [each.kind, each.graph])),
    };
  };
  expect((await count()).names).toEqual(graph.options.projector.names.graphs);
  const { triples } = await count();
  expect(triples["need"]).toBeGreaterThan(10);
  await graph.store.update(`DROP GRAPH <${graph.needs}>`);
  expect((await count()).triples).toEqual({ ...triples, need: 0 });
  graph.store.before = () => {
    throw new GraphTimeout("late");
  };
  const unknown = { storeAvailable: false, triples: { need: null, commitment: null } };
  expect(await count()).toMatchObject(unknown);
  // One that is silent would be waited for as long as counting may take.
  graph.store.isAvailable = () => Promise.resolve(false);
  graph.store.calls.length = 0;
  expect(await count()).toMatchObject(unknown);
  expect(graph.store.calls).toEqual([]);
});

test("a store that refuses to count is told of as one that cannot be asked, beside what the tables say", async () => {
  await graph.declareNeeds(2);
  graph.store.before = () => {
    throw new GraphRejected(400, "no");
  };
  const { pool, projector } = graph.options;
  const { storeAvailable, graphs } = await projectionStatus(pool, graph.store, projector.names);
  const need = graphs.find(({ kind }) => kind === "need");
  expect({ storeAvailable, need }).toMatchObject({
    storeAvailable: false,
    need: { records: 2, triples: null },
  });
});
