// What goes to PostgreSQL with a statement, what comes back, and how one is cancelled.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type pg from "pg";
import { createPool } from "../db/pool.ts";
import type { Pulse } from "../process/pulse.ts";
import { cancelStatement } from "../server/postgres/cancel.ts";
import { Connections } from "../server/postgres/connections.ts";
import { CallerGone, DatabaseUnavailable, ReplicaUnfit } from "../server/postgres/unavailable.ts";
import { Shares } from "../server/shares.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(60_000);

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => new Promise((closed) => server.close(closed))));
});

/** Takes the first bytes of whoever connects, and closes nothing by itself. */
async function listen(path?: string) {
  const { promise, resolve } = Promise.withResolvers<{ bytes: Buffer; socket: Socket }>();
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => undefined));
    socket.once("data", (bytes) => resolve({ bytes, socket }));
  });
  servers.push(server);
  server.listen(path ?? { port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  return { port: path === undefined ? (server.address() as AddressInfo).port : 5432, ordered: promise };
}

const PATIENCE_MS = 60_000;
/** A port at which nobody listens. */
const NOBODYS = 9;
const int32 = (...numbers: number[]) => {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [place, number] of numbers.entries()) bytes.writeInt32BE(number, 4 * place);
  return bytes;
};

describe("an order to cancel", () => {
  const connectedTo = (host: string, port: number, tls: object = {}) =>
    ({
      ...{ host, port, processID: 7, secretKey: 11, sslNegotiation: "postgres" },
      ...{ connectionParameters: { ssl: false }, ...tls },
    }) as unknown as pg.ClientBase;
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "engagement-graph-cancel-"));
  });
  afterEach(() => rm(dir, { recursive: true }));

  test.each(["127.0.0.1", "a socket"])(
    "goes the way of the connection, %s, with its two numbers, and is over when the server has closed it",
    async (host) => {
      const isSocket = host === "a socket";
      const { port, ordered } = await listen(isSocket ? join(dir, ".s.PGSQL.5432") : undefined);
      let isOver = false;
      const cancelling = cancelStatement(connectedTo(isSocket ? dir : host, port), PATIENCE_MS).then(
        () => (isOver = true),
      );
      // Or the failure to connect.
      const first = await Promise.race([ordered, cancelling]);
      expect(isOver).toBe(false);
      const { bytes, socket } = first as Awaited<typeof ordered>;
      expect(bytes).toEqual(int32(16, 80_877_102, 7, 11));
      socket.end();
      await cancelling;
    },
  );

  test.each([
    ["postgres", int32(8, 80_877_103)],
    ["direct", Buffer.from([0x16])],
  ])("goes over TLS where the connection does, which begins as it did there: %s", async (how, beginning) => {
    const { port, ordered } = await listen();
    const tls = { connectionParameters: { ssl: { rejectUnauthorized: false } }, sslNegotiation: how };
    const cancelling = cancelStatement(connectedTo("127.0.0.1", port, tls), PATIENCE_MS);
    const { bytes, socket } = (await Promise.race([ordered, cancelling])) as Awaited<typeof ordered>;
    expect(bytes.subarray(0, beginning.length)).toEqual(beginning);
    socket.destroy();
    await cancelling.catch(() => undefined);
  });

  test("that nobody takes has failed", async () => {
    await expect(cancelStatement(connectedTo("127.0.0.1", NOBODYS), PATIENCE_MS)).rejects.toThrow(
      /ECONNREFUSED/,
    );
  });

  test("that is not answered is given up", async () => {
    const { port } = await listen();
    await expect(cancelStatement(connectedTo("127.0.0.1", port), 1)).rejects.toThrow(DatabaseUnavailable);
  });
});

describe("on a connection", () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  let connections: Connections;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(() => start());
  afterEach(() => pool.end());

  /** One connection, of a database that is there. */
  function start(more: { isReplica?: boolean; connected?: (client: pg.PoolClient) => void } = {}): void {
    const { isReplica, connected = () => undefined } = more;
    pool = createPool(database.serverUrl, { max: 1 });
    pool.on("connect", connected);
    const attendance = { answered: () => undefined, end: () => undefined };
    connections = new Connections({
      ...{ pool, isReplica, timeoutMs: PATIENCE_MS },
      pulse: { isDown: false, outages: 0, attend: () => attendance } as unknown as Pulse,
      shares: new Shares({
        ...{ slots: 1, perCaller: 1, queuePerCaller: 9, queue: 9, patienceMs: 60_000, slowMs: 60_000 },
      }),
    });
  }
  async function startAnew(more: Parameters<typeof start>[0]): Promise<void> {
    await pool.end();
    start(more);
  }

  test("settings hold for their statement alone, and are no rows of its answer", async () => {
    const read = { text: "select current_setting('app.told', true) as told from generate_series(1, 2)" };
    const sizes: number[] = [];
    await connections.borrow({ caller: "a" }, async (connection) => {
      const { rows } = await connection.run(read, { "app.told": "here" }, (bytes) => sizes.push(bytes));
      expect(rows).toEqual([{ told: "here" }, { told: "here" }]);
      expect(sizes).toHaveLength(2);
      const later = await connection.run<{ told: string }>(read);
      expect(later.rows.map(({ told }) => told || "")).toEqual(["", ""]);
    });
  });

  test("a statement without settings is sent by itself, as only the end of a transaction that has failed can be", async () => {
    await connections.borrow({ caller: "a" }, async (connection) => {
      await connection.run({ text: "begin" });
      await expect(connection.run({ text: "select 1 / 0" })).rejects.toMatchObject({ code: "22012" });
      await expect(connection.run({ text: "rollback" })).rejects.toMatchObject({ code: "25P02" });
      await connection.run({ text: "rollback" }, null);
      expect(await connection.run({ text: "select 1 as n" })).toMatchObject({ rows: [{ n: 1 }] });
    });
  });

  test("what a row is refused with is the answer, and no other row is kept", async () => {
    let rows = 0;
    const refusal = new Error("enough");
    const refuse = () => {
      rows += 1;
      throw refusal;
    };
    await connections.borrow({ caller: "a" }, async (connection) => {
      const many = { text: "select generate_series(1, 3)" };
      await expect(connection.run(many, {}, refuse)).rejects.toBe(refusal);
      expect(rows).toBe(1);
      expect(await connection.run(many)).toMatchObject({ rowCount: 3 });
    });
  });

  test("a statement that had to go for a hundred others is prepared anew", async () => {
    await connections.borrow({ caller: "a" }, async (connection) => {
      for (const n of [...Array(101).keys(), 0]) {
        const { rows } = await connection.run({ name: `statement ${n}`, text: `select ${n} as n` });
        expect(rows).toEqual([{ n }]);
      }
      const { rows } = await connection.run<{ names: string[] }>({
        text: "select array_agg(name) as names from pg_prepared_statements where name like 'statement %'",
      });
      expect(rows[0]!.names).toHaveLength(100);
      expect(rows[0]!.names).toContain("statement 0");
    });
    // It was not found missing, as behind a pooler.
    expect(connections.mayPrepare).toBe(true);
  });

  test("that should lead to a replica and leads to a primary, nothing has begun, and that is why", async () => {
    await startAnew({ isReplica: true });
    const position = { database: "x", timeline: "1", at: 1 };
    await connections.borrow({ caller: "a", position }, async (connection) => {
      await expect(connection.run({ text: "select" })).rejects.toMatchObject({
        ...{ constructor: ReplicaUnfit, message: "it is no replica", isBehind: false },
      });
    });
    await connections.borrow({ caller: "a" }, async (connection) => {
      await expect(connection.run({ text: "select 1 / 0" })).rejects.toMatchObject({ code: "22012" });
    });
  });

  test("nothing is begun for a caller who has gone", async () => {
    const caller = new AbortController();
    await connections.borrow({ caller: "a", gone: caller.signal }, async (connection) => {
      caller.abort();
      await expect(connection.run({ text: "select" })).rejects.toThrow(CallerGone);
    });
  });

  /** Runs a statement whose caller leaves, and cancels it by other means; orders to cancel go to that port. */
  async function leave(port: number) {
    await startAnew({ connected: (client) => void Object.assign(client, { host: "127.0.0.1", port }) });
    const caller = new AbortController();
    const connection = await connections.take({ caller: "a", gone: caller.signal });
    const { rows } = await connection.run<{ pid: number }>({ text: "select pg_backend_pid() as pid" });
    const running = connection.run({ text: "select pg_sleep(600)" });
    running.catch(() => undefined);
    await eventually(async () => {
      const { rowCount } = await database.owner.query(
        "select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'",
        [rows[0]!.pid],
      );
      expect(rowCount).toBe(1);
    });
    caller.abort();
    return {
      connection,
      cancelled: async () => {
        await database.owner.query("select pg_cancel_backend($1)", [rows[0]!.pid]);
        await expect(running).rejects.toThrow(CallerGone);
      },
    };
  }

  test("an order to cancel that is on its way keeps it from the next caller", async () => {
    // It is given up after a second, which a busy machine may take for all this.
    const begin = globalThis.setTimeout;
    const timers = jest
      .spyOn(globalThis, "setTimeout")
      .mockImplementation(((work: () => void, ms: number) =>
        begin(work, ms === 1_000 ? PATIENCE_MS : ms)) as unknown as typeof setTimeout);
    const { port, ordered } = await listen();
    const { connection, cancelled } = await leave(port);
    const { socket } = await ordered;
    await cancelled();
    connection.release();
    expect(connections.usage.used).toBe(1);
    expect(pool.idleCount).toBe(0);
    socket.end();
    await eventually(() => expect(connections.usage.used).toBe(0));
    expect(pool.idleCount).toBe(1);
    timers.mockRestore();
  });

  test("an order to cancel that failed closes it: nobody knows what is on its way", async () => {
    const { connection, cancelled } = await leave(NOBODYS);
    await cancelled();
    connection.release();
    await eventually(() => expect(connections.usage.used).toBe(0));
    expect(pool.totalCount).toBe(0);
  });
});
