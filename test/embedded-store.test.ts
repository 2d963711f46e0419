// What only the embedded store has to prove: that its threads can die and its process can be killed.
import { execFileSync, spawn } from "node:child_process";
import { appendFile, chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { findEmbeddedStore, startEmbeddedStore, StoreInUse } from "../graph/embedded/index.ts";
import type { EmbeddedStore } from "../graph/embedded/index.ts";
import { createGraphStore, GraphTooExpensive, GraphUnreachable, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";
import { eventually } from "./support/eventually.ts";
import { withoutCredentials } from "./support/stores.ts";

let dir: string;
let store: EmbeddedStore;
let client: GraphStore;

const start = async () => {
  store = await startEmbeddedStore({ dir });
  client = createGraphStore(storeUrls(store.url));
};
/** As if a store had been where somebody else listens now. */
const takeForStore = async (stranger: Server) => {
  const { port } = stranger.address() as AddressInfo;
  const claim = { url: `http://127.0.0.1:${port}`, instance: "the one that was killed", password: "its own" };
  await writeFile(join(dir, "server.json"), JSON.stringify(claim));
};
const restart = async () => {
  client.close();
  await store.stop();
  await start();
};
const add = (value: number) => client.update(`INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> ${value} } }`);
const values = async () =>
  (await client.select("SELECT ?o { <urn:s> <urn:p> ?o } ORDER BY ?o")).map((row) => Number(row["o"]?.value));

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "embedded-store-"));
  await start();
});
afterEach(async () => {
  client.close();
  await store.stop();
  await rm(dir, { recursive: true });
});

test("a second process on the same folder is told where the first one serves it, and may take over when that is gone", async () => {
  await expect(startEmbeddedStore({ dir })).rejects.toThrow(StoreInUse);
  await expect(startEmbeddedStore({ dir })).rejects.toThrow(new URL(store.url).host);
  expect(await findEmbeddedStore(dir)).toBe(store.url);
  const claims = async () => (await readdir(dir)).filter((name) => name.startsWith("server.json"));
  expect(await claims()).toEqual(["server.json"]);
  await store.stop();
  expect(await claims()).toEqual([]);
  expect(await findEmbeddedStore(dir)).toBeUndefined();
  await start();
});

test("of several processes that start at once on one folder, one serves it", async () => {
  await store.stop();
  const started = await Promise.allSettled(Array.from({ length: 4 }, () => startEmbeddedStore({ dir })));
  const serving = started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  expect(serving).toHaveLength(1);
  expect(await findEmbeddedStore(dir)).toBe(serving[0]?.url);
  await serving[0]?.stop();
  await start();
});

test("who asks a store that is still reading its files is told that it is starting", async () => {
  await store.stop();
  // Of this one reading ends when somebody has written.
  const gate = join(dir, "snapshot-0000000000000001.v2.nq");
  execFileSync("bash", ["-c", 'mkfifo "$0"', gate]);
  const starting = start();
  let answer: [number, string] | undefined;
  try {
    await eventually(async () => {
      const url = await findEmbeddedStore(dir);
      const { origin, pathname, username, password } = new URL(url!);
      const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
      const response = await fetch(`${origin}${pathname}/query?query=ASK%7B%7D`, {
        headers: { authorization },
      });
      answer = [response.status, await response.text()];
    });
  } finally {
    await writeFile(gate, "");
  }
  expect(answer).toEqual([503, "The store is starting.\n"]);
  await starting;
  expect(await client.ask("ASK {}")).toBe(true);
});

test("a port in use is an error and leaves nothing running", async () => {
  const other = await mkdtemp(join(tmpdir(), "embedded-store-"));
  await expect(startEmbeddedStore({ dir: other, port: store.port })).rejects.toThrow("EADDRINUSE");
  await rm(other, { recursive: true });
});

test("what was acknowledged survives SIGKILL", async () => {
  await store.stop();
  const script = `
    import { startEmbeddedStore } from ${JSON.stringify(new URL("../graph/embedded/index.ts", import.meta.url).href)};
    import { createGraphStore, storeUrls } from ${JSON.stringify(new URL("../graph/store.ts", import.meta.url).href)};
    const store = await startEmbeddedStore({ dir: ${JSON.stringify(dir)} });
    const client = createGraphStore(storeUrls(store.url));
    for (let i = 1; ; i++) {
      await client.update(\`INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> \${i} } }\`);
      console.log(i);
    }`;
  const victim = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
    cwd: fileURLToPath(new URL("..", import.meta.url)),
  });
  let acknowledged = 0;
  for await (const chunk of victim.stdout) {
    acknowledged = Number(String(chunk).trim().split("\n").at(-1));
    if (acknowledged > 100) break;
  }
  victim.kill("SIGKILL");
  expect(acknowledged).toBeGreaterThan(100);
  await new Promise((resolve) => void victim.once("close", resolve));
  await start();
  const kept = await values();
  expect(kept.length).toBeGreaterThanOrEqual(acknowledged);
  expect(kept).toEqual(kept.map((_, i) => i + 1));
});

test("a journal entry that was cut off is dropped, and what follows is kept", async () => {
  await add(1);
  await store.stop();
  const [journal] = (await readdir(dir)).filter((name) => name.startsWith("journal-"));
  await appendFile(join(dir, journal!), Buffer.from([200, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
  await start();
  expect(await values()).toEqual([1]);
  await add(2);
  await restart();
  expect(await values()).toEqual([1, 2]);
});

test("a large journal becomes a snapshot", async () => {
  const text = "x".repeat(2_000_000);
  await client.update(`INSERT DATA { GRAPH <urn:g> { <urn:big> <urn:p> "${text}" } }`);
  await add(1);
  await restart();
  expect((await readdir(dir)).filter((name) => name.startsWith("snapshot-"))).toHaveLength(1);
  await add(2);
  await restart();
  expect(await values()).toEqual([1, 2]);
  expect(await client.ask("ASK { <urn:big> ?p ?o FILTER(STRLEN(?o) = 2000000) }")).toBe(true);
});

test("a query that breaks the engine is refused, and the next one is answered", async () => {
  await add(1);
  const deep = `SELECT * { ${"{".repeat(5_000)}${"}".repeat(5_000)} }`;
  for (let i = 0; i < 3; i++) await expect(client.query(deep)).rejects.toThrow(GraphTooExpensive);
  // The same query from the service itself may reach the writing thread; the store is then rebuilt from its files.
  await Promise.allSettled([
    client.select(deep),
    client.select(deep),
    client.select(deep),
    client.select(deep),
  ]);
  await expect(
    client.update(`INSERT { <urn:s> <urn:p> 2 } WHERE { ${"{".repeat(5_000)}${"}".repeat(5_000)} }`),
  ).rejects.toThrow();
  expect(await values()).toEqual([1]);
  await add(3);
  expect(await values()).toEqual([1, 3]);
  await restart();
  expect(await values()).toEqual([1, 3]);
});

test("an engine may take 2 GiB, and no more: the rest of the machine is for others", () => {
  const { WebAssembly } = globalThis as unknown as {
    WebAssembly: { Memory: new (limits: { initial: number }) => { grow: (pages: number) => number } };
  };
  const memory = new WebAssembly.Memory({ initial: 1 });
  expect(() => memory.grow(32_768)).toThrow(RangeError);
  // Address space alone, of which nothing is used.
  expect(memory.grow(32_767)).toBe(1);
});

test("the store is for the user who runs it alone", async () => {
  const { origin, pathname, username, password } = new URL(store.url);
  const ask = async (path: string, authorization?: string, init: RequestInit = {}) =>
    (await fetch(origin + path, { ...init, headers: authorization ? { authorization } : {} })).status;
  const basic = (user: string, secret: string) =>
    `Basic ${Buffer.from(`${user}:${secret}`).toString("base64")}`;
  const query = `${pathname}/query?query=${encodeURIComponent("ASK {}")}`;
  expect(await ask(query, basic(username, password))).toBe(200);
  expect(await ask(query)).toBe(401);
  const asked = await fetch(origin + query);
  // Whoever opens it in a browser is asked who they are.
  expect(asked.headers.get("www-authenticate")).toBe('Basic realm="graph"');
  expect(await ask(query, basic(username, ""))).toBe(401);
  expect(await ask(query, basic(username, `${password}x`))).toBe(401);
  const update = { method: "POST", body: new URLSearchParams({ update: "DROP ALL" }) };
  expect(await ask(`${pathname}/update`, undefined, update)).toBe(401);
  const claim = JSON.parse(await readFile(join(dir, "server.json"), "utf8")) as { instance: string };
  expect(await (await fetch(`${origin}/instance`)).text()).not.toContain(claim.instance);
});

test("who asks the store is the one to close a connection that rests, and meets none that is just being closed", async () => {
  const answer = await fetch(withoutCredentials(store.url));
  await answer.text();
  // The client closes its own after ten seconds (graph/store-http.ts).
  expect(answer.headers.get("keep-alive")).toBe("timeout=60");
});

test("the files are for the user who runs it alone, those of an older version too", async () => {
  const modes = async () => {
    const names = [".", ...(await readdir(dir))];
    const stats = await Promise.all(names.map((name) => stat(join(dir, name))));
    return new Set(stats.map(({ mode }) => (mode & 0o777).toString(8)));
  };
  await add(1);
  expect(await modes()).toEqual(new Set(["700", "600"]));
  await store.stop();
  await chmod(dir, 0o755);
  for (const name of await readdir(dir)) await chmod(join(dir, name), 0o644);
  await start();
  expect(await modes()).toEqual(new Set(["700", "600"]));
});

test("no other address of the machine leads to the store", async () => {
  const elsewhere = store.url.replace("127.0.0.1", "127.0.0.2");
  const stranger = createGraphStore(storeUrls(elsewhere));
  expect(elsewhere).not.toBe(store.url);
  await expect(stranger.ask("ASK {}")).rejects.toThrow(GraphUnreachable);
  stranger.close();
});

test("that it was stopped is no failure to tell of", async () => {
  await store.stop();
  const failures: Error[] = [];
  const other = await startEmbeddedStore({ dir, onFailure: (error) => failures.push(error) });
  const timers = jest.spyOn(globalThis, "setTimeout");
  const cleared = jest.spyOn(globalThis, "clearTimeout");
  try {
    await other.stop();
    // Nobody has to wait for the end of the time that it might have taken.
    const patience = timers.mock.calls.findIndex(([, ms]) => ms === 30_000);
    expect(cleared).toHaveBeenCalledWith(timers.mock.results[patience]!.value as NodeJS.Timeout);
  } finally {
    jest.restoreAllMocks();
  }
  expect(failures).toEqual([]);
  await start();
});

test("what listens where a store was that is gone is not taken for it", async () => {
  await store.stop();
  const stranger = createServer((_, response) => response.end("somebody else"));
  await new Promise<void>((resolve) => void stranger.listen(0, "127.0.0.1", resolve));
  try {
    await takeForStore(stranger);
    expect(await findEmbeddedStore(dir)).toBeUndefined();
    await start();
    expect(await findEmbeddedStore(dir)).toBe(store.url);
  } finally {
    stranger.close();
  }
});

test("what listens where a store was that is gone, and says nothing, is waited for two seconds", async () => {
  await store.stop();
  const sockets: Socket[] = [];
  const stranger = createServer(() => undefined).on("connection", (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => void stranger.listen(0, "127.0.0.1", resolve));
  const limits = jest.spyOn(AbortSignal, "timeout");
  let outcome: unknown = "is looked for";
  try {
    await takeForStore(stranger);
    void findEmbeddedStore(dir).then((found) => (outcome = found));
    await eventually(() => expect(outcome).toBeUndefined(), 15_000);
    expect(limits.mock.calls).toEqual([[2_000]]);
  } finally {
    jest.restoreAllMocks();
    for (const socket of sockets) socket.destroy();
    stranger.close();
  }
  await start();
});

test("another start has another password", async () => {
  const before = new URL(store.url);
  await restart();
  // Wherever it is now: what was its port may be another's.
  before.port = String(store.port);
  expect(before.password).not.toBe(new URL(store.url).password);
  const stranger = createGraphStore(storeUrls(before.href));
  await expect(stranger.update("DROP ALL")).rejects.toThrow("401");
  stranger.close();
});

test("a body that is too long is refused as soon as its length is known", async () => {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const { username, password } = new URL(store.url);
  const put = request(`${withoutCredentials(store.url)}/data?graph=urn:g`, {
    auth: `${username}:${password}`,
    method: "PUT",
    headers: { "content-type": "text/turtle", "content-length": 2 ** 31 },
  });
  put.on("response", (response) => {
    resolve(response.statusCode);
    put.destroy();
  });
  put.on("error", () => undefined);
  put.flushHeaders();
  expect(await promise).toBe(413);
});
