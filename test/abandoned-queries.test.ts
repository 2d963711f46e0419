// However somebody leaves a query, Fuseki works on no more queries of one key at a time than the key has places.
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Fuseki } from "../graph/fuseki/launch.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { SparqlEndpoint } from "../server/sparql/endpoint.ts";
import { eventually } from "./support/eventually.ts";
import { fusekiIsAvailable, startFuseki } from "./support/fuseki.ts";

const NEVER_MS = 600_000;
/** Which no time limit ends; no door lets it through. Long enough to be looked at while it lasts by a machine that stands still. */
const DEAF = `FILTER(<http://jena.apache.org/ARQ/function#wait>(15000))`;

/** A way to Fuseki on which each query is seen from the moment it is sent until Fuseki has answered it, whoever has left. */
async function watchedWay({ port }: Fuseki) {
  const seen = { working: 0, most: 0, all: 0 };
  const server = createServer((incoming, response) => {
    seen.all++;
    seen.most = Math.max(seen.most, ++seen.working);
    const { method, url: path, headers } = incoming;
    const outgoing = request({ host: "localhost", port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.on("end", () => void seen.working--).pipe(response);
      response.on("close", () => answer.resume());
    });
    incoming.pipe(outgoing);
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  return {
    seen,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/engagement`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

(fusekiIsAvailable ? describe : describe.skip)(
  "the place of a query is not lent again while Fuseki is at it",
  () => {
    let dir: string;
    let fuseki: Fuseki;
    /** What came of each, which takes a quarter of a minute, and all of them together as long. */
    let tried: Promise<void>[];

    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), "engagement-abandoned-"));
      fuseki = await startFuseki({ dir });
      const client = createGraphStore({
        ...storeUrls(fuseki.url),
        user: fuseki.user,
        password: fuseki.password,
      });
      const rows = Array.from({ length: 20_000 }, (_, i) => `<urn:s${i}> <urn:p> "${i}" .`).join("\n");
      await client.putGraph("urn:many", rows, "application/n-triples");
      client.close();
      tried = WAYS.map(([, ...way]) => abandon(...way));
      for (const each of tried) each.catch(() => undefined);
    });
    afterAll(async () => {
      await Promise.allSettled(tried);
      await fuseki.stop();
      await rm(dir, { recursive: true });
    });

    /** One place for each of two callers. */
    function endpoint(store: GraphStore, timeoutMs: number) {
      const door = new SparqlEndpoint({
        store,
        namedGraphs: [],
        timeoutMs,
        concurrency: 2,
        waitMs: NEVER_MS,
      });
      return (caller: string, text: string, gone = new AbortController().signal) =>
        door.run({ form: "select", text }, { type: "text/csv", caller, gone });
    }
    const read = async (body: Readable) => {
      for await (const _ of body);
    };
    const AMID = `SELECT * { { ?s <urn:p> ?o } UNION { ${DEAF} } }`;

    type Leave = (run: ReturnType<typeof endpoint>, seen: { working: number }) => Promise<unknown>;
    const WAYS: [string, Leave, number?][] = [
      [
        "whose caller hangs up before an answer",
        async (run, seen) => {
          const caller = new AbortController();
          const running = run("a", `SELECT * { ${DEAF} }`, caller.signal);
          running.catch(() => undefined);
          await eventually(() => Promise.resolve(expect(seen.working).toBe(1)));
          caller.abort();
          await expect(running).rejects.toThrow();
        },
      ],
      [
        "whose time is over",
        (run) => expect(run("a", `SELECT * { ${DEAF} }`)).rejects.toMatchObject({ code: "query_timeout" }),
        2_000,
      ],
      ["whose answer is too long for its caller", async (run) => void (await run("a", AMID)).destroy()],
      [
        "whose answer nobody reads before its time is over",
        async (run) => {
          const body = await run("a", AMID);
          body.on("error", () => undefined);
          await new Promise((closed) => void body.once("close", closed));
          expect(body.errored).toBeTruthy();
        },
        8_000,
      ],
    ];

    async function abandon(leave: Leave, timeoutMs = NEVER_MS): Promise<void> {
      const { seen, url, stop } = await watchedWay(fuseki);
      const { user, password } = fuseki;
      const store = createGraphStore({ ...storeUrls(url), user, password, takesTimeout: true });
      try {
        const run = endpoint(store, timeoutMs);
        await leave(run, seen);
        expect(seen.working).toBe(1);
        await read(await endpoint(store, NEVER_MS)("b", "ASK {}"));
        seen.most = seen.working;
        await read(await run("a", "ASK {}"));
        expect(seen).toMatchObject({ most: 1, all: 3 });
        expect(seen.working).toBe(0);
      } finally {
        store.close();
        stop();
      }
    }

    test.each(WAYS.map(([way], place) => [way, place] as const))("%s", async (_way, place) => {
      await tried[place];
    });
  },
);
