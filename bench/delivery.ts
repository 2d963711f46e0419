// From a commit to the subscribers: how long a change takes to reach all of them,
// and what a writer pays for it.
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { issueTestKey } from "../test/support/database.ts";
import { contributor, ORG } from "../test/support/world.ts";
import { percentile, round, startBenchDatabase, startChild, timed } from "./support.ts";
import type { BenchDatabase, Figure } from "./support.ts";

const SUBSCRIBERS = [1, 100, 1_000];
const CHANGES = 200;
/** Milliseconds between two changes: as many per second as on a busy platform. */
const EVERY_MS = 50;
const SUBSCRIPTION = "subscription { changes { cursor id orgUri toStatus } }";

/** A server in a process of its own, subscribers in this one. */
export async function benchDelivery(): Promise<Figure[]> {
  const database = await startBenchDatabase();
  try {
    const served = await startChild("served.ts", { DATABASE_URL: database.serverUrl });
    try {
      const figures: Figure[] = [];
      for (const count of SUBSCRIBERS) figures.push(await delivered(database, served.url, count));
      return figures;
    } finally {
      await served.stop();
    }
  } finally {
    await database.stop();
  }
}

async function delivered(database: BenchDatabase, url: string, count: number): Promise<Figure> {
  const key = await issueTestKey(database.owner, "api_read");
  const writtenAt = new Map<string, number>();
  const latencies: number[] = [];
  let told = 0;
  const sockets = await Promise.all(
    Array.from({ length: count }, () =>
      subscribed(url, key, (id) => {
        told++;
        const at = writtenAt.get(id);
        if (at !== undefined) latencies.push(performance.now() - at);
      }),
    ),
  );
  // The subscriptions have begun once all of them receive a change.
  let before: number;
  do {
    before = told;
    await declare(database);
    await sleep(500);
  } while (told - before < count);
  latencies.length = 0;
  const writes: number[] = [];
  for (let n = 0; n < CHANGES; n++) {
    const begun = performance.now();
    // The time is noted before the write, so that what is measured includes the write.
    writes.push(await timed(() => declare(database, (id) => writtenAt.set(id, performance.now()))));
    await sleep(Math.max(0, EVERY_MS - (performance.now() - begun)));
  }
  for (let waits = 0; latencies.length < count * CHANGES && waits < 100; waits++) await sleep(100);
  for (const socket of sockets) socket.terminate();
  if (latencies.length !== count * CHANGES)
    throw new Error(`${count * CHANGES - latencies.length} of ${count * CHANGES} were not delivered`);
  const ms = (share: number) => `${round(percentile(latencies, share))} ms`;
  return {
    subject: `From commit to ${count.toLocaleString("en")} subscribers, ${1000 / EVERY_MS} changes a second`,
    measured: `p50 ${ms(0.5)}, p99 ${ms(0.99)}, last ${ms(1)}; a write p50 ${round(percentile(writes, 0.5))} ms`,
  };
}

/** Subscribes over a socket of its own. */
async function subscribed(url: string, key: string, hear: (id: string) => void): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  await once(socket, "open");
  const acknowledged = once(socket, "message");
  socket.send(JSON.stringify({ type: "connection_init", payload: { authorization: `Bearer ${key}` } }));
  await acknowledged;
  socket.on("message", (data) => {
    const { type, payload } = JSON.parse((data as Buffer).toString()) as {
      type: string;
      payload?: { data?: { changes: { id: string } } };
    };
    if (type === "next") hear(payload!.data!.changes.id);
  });
  socket.send(JSON.stringify({ id: "1", type: "subscribe", payload: { query: SUBSCRIPTION } }));
  return socket;
}

async function declare(database: BenchDatabase, begin?: (id: string) => void): Promise<void> {
  const id = crypto.randomUUID();
  begin?.(id);
  await database.owner.query(
    `insert into app_public.needs (need_id, org_uri, org_name, declared_by_email, need_description, accelerators)
     values ($1, $2, 'River Mission', $3, 'A well', '{PRA}')`,
    [id, ORG, contributor],
  );
}
