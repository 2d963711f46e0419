// What a client of a graph store lets go: what it was sending, and what it had under way.
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { expect, jest, test } from "@jest/globals";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import { eventually } from "./support/eventually.ts";
import { listening } from "./support/listening.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(60_000);
const { listen, clients } = listening();

test("what is being sent is let go as soon as nobody takes any more of it", async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  // It never reads what is sent to it.
  const deaf = await listen(() => arrive());
  const nobody = "http://127.0.0.1:9";
  for (const url of [nobody, deaf]) {
    const store = createGraphStore(storeUrls(`${url}/ds`));
    clients.push(store);
    const leaving = new AbortController();
    // As of records that are read from the database as they are sent: it keeps a connection until it ends.
    const source = Readable.from(
      (function* () {
        for (;;) yield "x".repeat(65_536);
      })(),
    );
    const putting = store.putGraph("urn:g", source, "text/turtle", { signal: leaving.signal });
    if (url === deaf) void arrived.then(() => leaving.abort(new Error("left")));
    await expect(putting).rejects.toThrow(url === deaf ? "left" : "cannot be reached");
    await eventually(() => expect([url, source.destroyed]).toEqual([url, true]), 30_000);
  }
});

test("a client that is closed ends what it has under way", async () => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<ServerResponse>();
  const url = await listen((_, response) => arrive(response));
  const store = createGraphStore(storeUrls(`${url}/ds`));
  const asking = store.query("ASK {}", { timeoutMs: 3_600_000 }).catch((error: unknown) => error);
  const response = await arrived;
  store.close();
  await eventually(() => expect(response.closed).toBe(true), 30_000);
  expect(await asking).toMatchObject({ name: "GraphUnreachable" });
});
