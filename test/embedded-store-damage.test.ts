// What the embedded store makes of files that are not what it wrote: it goes back to what it once was, says so, and
// throws nothing away.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serialize } from "node:v8";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { startEmbeddedStore } from "../graph/embedded/index.ts";
import type { EmbeddedStore } from "../graph/embedded/index.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import type { GraphStore } from "../graph/store.ts";

let dir: string;
let store: EmbeddedStore | undefined;
let client: GraphStore;
let warnings: string[];

const start = async () => {
  warnings = [];
  store = await startEmbeddedStore({ dir, onWarning: (message) => warnings.push(message) });
  client = createGraphStore(storeUrls(store.url));
};
const stop = async () => {
  client.close();
  await store?.stop();
  store = undefined;
};
const insert = (value: number) => `INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> ${value} } }`;
const add = (...values: number[]) =>
  values.reduce((before, value) => before.then(() => client.update(insert(value))), Promise.resolve());
const values = async () =>
  (await client.select("SELECT ?o { GRAPH <urn:g> { <urn:s> <urn:p> ?o } } ORDER BY ?o")).map((row) =>
    Number(row["o"]?.value),
  );
/** Makes the store large enough to leave a snapshot when it stops. */
const grow = () =>
  client.update(`INSERT DATA { GRAPH <urn:big> { <urn:s> <urn:p> "${"x".repeat(1_200_000)}" } }`);
const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

const names = async (pattern: RegExp) => (await readdir(dir)).filter((name) => pattern.test(name)).toSorted();
const only = async (pattern: RegExp) => {
  const found = await names(pattern);
  expect(found).toHaveLength(1);
  return join(dir, found[0]!);
};
const JOURNAL = /^journal-\d+(\.v2)?\.log$/;
const SNAPSHOT = /^snapshot-\d+(\.v2)?\.nq$/;
const SET_ASIDE = /\.(damaged|orphaned)-\d{8}T\d{9}Z$/;

/** Where each record of a journal begins, and where the last one ends. */
const edges = (bytes: Buffer) => {
  const found = [0];
  for (let at = 0; at < bytes.length;) found.push((at += 20 + bytes.readUInt32LE(at)));
  return found;
};
const flip = async (path: string, byte: number) => {
  const bytes = await readFile(path);
  bytes[byte]! ^= 0x10;
  await writeFile(path, bytes);
};
const digest = async (path: string) =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "embedded-store-"));
  await start();
});
afterEach(async () => {
  await stop();
  await rm(dir, { recursive: true });
});

test.each([
  ["length", 1],
  ["number", 4],
  ["header's checksum", 13],
  ["content's checksum", 18],
  ["content", 40],
])("a byte that flips in a record's %s costs what follows it, which is set aside", async (_field, byte) => {
  await add(...upTo(9));
  await stop();
  const journal = await only(JOURNAL);
  const from = edges(await readFile(journal))[5]!;
  await flip(journal, from + byte);
  const before = await digest(journal);
  await start();
  expect(await values()).toEqual(upTo(5));
  const aside = await only(SET_ASIDE);
  expect(await digest(aside)).toBe(before);
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`journal-.* byte ${from}\\b.*\\.damaged-`))]);
  // The next change takes the place of the lost one, and is kept.
  await add(100);
  await stop();
  await start();
  expect(await values()).toEqual([...upTo(5), 100]);
  expect(warnings).toEqual([]);
  expect(await digest(aside)).toBe(before);
});

test("what is set aside twice is there twice", async () => {
  await add(1, 2);
  await stop();
  const journal = await only(JOURNAL);
  for (const count of [1, 2, 3]) {
    await flip(journal, 25);
    await start();
    await add(1, 2);
    await stop();
    expect(await names(SET_ASIDE)).toHaveLength(count);
  }
});

test.each([
  ["in the middle of its header", (start: number) => start + 7],
  ["in the middle of its content", (start: number) => start + 31],
])("a last record that ends %s was cut off by a crash, which is nothing to warn of", async (_name, cut) => {
  await add(1, 2, 3);
  await stop();
  const journal = await only(JOURNAL);
  await truncate(journal, cut(edges(await readFile(journal))[2]!));
  await start();
  expect(await values()).toEqual([1, 2]);
  expect(warnings).toEqual([]);
  expect(await names(SET_ASIDE)).toEqual([]);
});

test("a last record of which only the space was written was cut off by a crash as well", async () => {
  await add(1, 2);
  await stop();
  const journal = await only(JOURNAL);
  await truncate(journal, (await readFile(journal)).length + 500);
  await start();
  expect(await values()).toEqual([1, 2]);
  expect(warnings).toEqual([]);
});

test.each([
  ["flipped", (path: string) => flip(path, 500_000)],
  ["flipped in its checksum", (path: string) => flip(path, 10)],
  ["cut short", (path: string) => truncate(path, 500_000)],
  ["empty", (path: string) => truncate(path, 0)],
  ["missing", (path: string) => rename(path, join(tmpdir(), `${path.split("/").at(-2)}.nq`))],
])(
  "without its snapshot, which is %s, the store is empty: changes since would stand on nothing",
  async (state, harm) => {
    await grow();
    await add(1, 2);
    await stop();
    await start();
    await add(3);
    await stop();
    await harm(await only(SNAPSHOT));
    await start();
    expect(await client.ask("ASK { ?s ?p ?o }")).toBe(false);
    const aside = await names(SET_ASIDE);
    expect(aside.map((name) => name.split("-")[0])).toEqual(
      state === "missing" ? ["journal"] : ["journal", "snapshot"],
    );
    expect(warnings).toHaveLength(aside.length);
    await add(7);
    await stop();
    await start();
    expect(await values()).toEqual([7]);
    expect(warnings).toEqual([]);
    await rm(join(tmpdir(), `${dir.split("/").at(-1)}.nq`), { force: true });
  },
);

test("a journal that is missing between others ends what can be trusted", async () => {
  await add(...upTo(6));
  await stop();
  // As a crash leaves them that comes between a snapshot's beginning and its end.
  const journal = await only(JOURNAL);
  const whole = await readFile(journal);
  const at = edges(whole);
  const part = (from: number, to: number) =>
    writeFile(
      join(dir, `journal-${String(from).padStart(16, "0")}.v2.log`),
      whole.subarray(at[from], at[to]),
    );
  await part(0, 2);
  await part(4, 6);
  await start();
  expect(await values()).toEqual([1, 2]);
  expect(await only(SET_ASIDE)).toMatch(/journal-0{15}4\.v2\.log\.orphaned-/);
  await stop();
  await part(2, 4);
  await rename(await only(SET_ASIDE), join(dir, "journal-0000000000000004.v2.log"));
  await start();
  expect(await values()).toEqual(upTo(6));
});

test("records that are missing within a journal end what can be trusted", async () => {
  await add(...upTo(6));
  await stop();
  const journal = await only(JOURNAL);
  const whole = await readFile(journal);
  const at = edges(whole);
  const missingSome = Buffer.concat([whole.subarray(0, at[2]), whole.subarray(at[3])]);
  await writeFile(journal, missingSome);
  await start();
  expect(await values()).toEqual([1, 2]);
  expect(await readFile(await only(SET_ASIDE))).toEqual(missingSome);
  expect(warnings).toHaveLength(1);
});

test("records that are there twice are applied once, in files that overlap too", async () => {
  await client.update("INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 0 } }");
  const increment = `DELETE { GRAPH <urn:g> { <urn:s> <urn:p> ?n } } INSERT { GRAPH <urn:g> { <urn:s> <urn:p> ?m } }
    WHERE { GRAPH <urn:g> { <urn:s> <urn:p> ?n } BIND(?n + 1 AS ?m) }`;
  for (let i = 0; i < 4; i++) await client.update(increment);
  await stop();
  const journal = await only(JOURNAL);
  const whole = await readFile(journal);
  const at = edges(whole);
  await writeFile(join(dir, "journal-0000000000000003.v2.log"), whole.subarray(at[2]));
  await start();
  expect(await values()).toEqual([4]);
  await client.update(increment);
  await stop();
  await start();
  expect(await values()).toEqual([5]);
  expect(warnings).toEqual([]);
});

test("what a killed process left half-written is removed, and an empty journal is taken for one", async () => {
  await add(1);
  await stop();
  await writeFile(join(dir, "snapshot-0000000000000009.v2.nq.part"), "<urn:a> <urn:b> <urn:c> .\n");
  await writeFile(join(dir, "journal-0000000000000001.v2.log"), "");
  await start();
  expect(await values()).toEqual([1]);
  expect(await names(/\.part$/)).toEqual([]);
  await add(2);
  await stop();
  await start();
  expect(await values()).toEqual([1, 2]);
  expect(warnings).toEqual([]);
});

/** A record as 0.1.0 wrote it. */
const oldRecord = (sequence: number) => {
  const payload = serialize({ kind: "update", sparql: insert(sequence) });
  const header = Buffer.alloc(16);
  header.writeUInt32LE(payload.length, 0);
  header.writeUInt32LE(crc32(payload), 4);
  header.writeBigUInt64LE(BigInt(sequence), 8);
  return Buffer.concat([header, payload]);
};
const quads = (...values: number[]) =>
  values
    .map((value) => `<urn:s> <urn:p> "${value}"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:g> .\n`)
    .join("");
const writeOld = async (snapshot: string, ...records: Buffer[]) => {
  for (const name of await names(/^(journal|snapshot)-/)) await rm(join(dir, name));
  await writeFile(join(dir, "snapshot-0000000000000002.nq"), snapshot);
  await writeFile(join(dir, "journal-0000000000000002.log"), Buffer.concat(records));
};

test("a directory of 0.1.0 is read, and goes on in the new format", async () => {
  await stop();
  await writeOld(quads(1, 2), oldRecord(3), oldRecord(4));
  await start();
  expect(await values()).toEqual(upTo(4));
  await add(5);
  await stop();
  await start();
  expect(await values()).toEqual(upTo(5));
  await grow();
  await stop();
  expect(await names(/^(journal|snapshot)-/)).toEqual([
    "journal-0000000000000006.v2.log",
    "snapshot-0000000000000006.v2.nq",
  ]);
  await start();
  expect(await values()).toEqual(upTo(5));
  expect(warnings).toEqual([]);
});

test("a directory of 0.1.0 whose journal is damaged goes back to what came before", async () => {
  await stop();
  const damaged = oldRecord(4);
  damaged[30]! ^= 1;
  await writeOld(quads(1, 2), oldRecord(3), damaged, oldRecord(5));
  await start();
  expect(await values()).toEqual(upTo(3));
  expect(warnings).toHaveLength(1);
});

test("a directory of 0.1.0 whose journal ends with nothing but space is read, and goes on", async () => {
  await stop();
  await writeOld(quads(1, 2), oldRecord(3), Buffer.alloc(500));
  await start();
  expect(await values()).toEqual(upTo(3));
  await add(4);
  await stop();
  await start();
  expect(await values()).toEqual(upTo(4));
  expect(warnings).toEqual([]);
  expect(await names(SET_ASIDE)).toEqual([]);
});

test.each([
  ["cut short", quads(1, 2).slice(0, -9)],
  ["no longer N-Quads", quads(1, 2).replace("<urn:s>", "urn:s>")],
])("a snapshot of 0.1.0 that is %s is not loaded", async (_state, snapshot) => {
  await stop();
  await writeOld(snapshot, oldRecord(3));
  await start();
  expect(await client.ask("ASK { ?s ?p ?o }")).toBe(false);
  expect(warnings).toHaveLength(2);
});

test("a change that the engine takes no more is damage from there on", async () => {
  await stop();
  const strange = serialize({ kind: "update", sparql: "INSERT DATA {" });
  const header = Buffer.alloc(16);
  header.writeUInt32LE(strange.length, 0);
  header.writeUInt32LE(crc32(strange), 4);
  header.writeBigUInt64LE(4n, 8);
  await writeOld(quads(1, 2), oldRecord(3), Buffer.concat([header, strange]), oldRecord(5));
  await start();
  expect(await values()).toEqual(upTo(3));
  expect(warnings).toHaveLength(1);
});

test("a directory that cannot be used is an error that names it", async () => {
  const occupied = join(dir, "occupied");
  await writeFile(occupied, "");
  await expect(startEmbeddedStore({ dir: occupied })).rejects.toThrow(occupied);
  const inside = join(dir, "inside");
  await mkdir(join(inside, "journal-0000000000000000.v2.log"), { recursive: true });
  await expect(startEmbeddedStore({ dir: inside })).rejects.toThrow("EISDIR");
});

test("on a full disk changes are refused and said to be, questions answered, and nothing is lost", async () => {
  await stop();
  // A limit to the size of a file stands for a disk that is full.
  const script = `
    import { startEmbeddedStore } from ${JSON.stringify(new URL("../graph/embedded/index.ts", import.meta.url).href)};
    import { createGraphStore, storeUrls } from ${JSON.stringify(new URL("../graph/store.ts", import.meta.url).href)};
    const warnings = [];
    const store = await startEmbeddedStore({ dir: ${JSON.stringify(dir)}, onWarning: (message) => warnings.push(message) });
    const client = createGraphStore(storeUrls(store.url));
    const insert = (value) => client.update(\`INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> \${value} } }\`);
    await insert(1);
    await client.update(\`INSERT DATA { GRAPH <urn:big> { <urn:s> <urn:p> "\${"x".repeat(1_200_000)}" } }\`);
    // Small in the journal, too large for a snapshot.
    await client.update("INSERT { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH <urn:big> { ?s ?p ?o } VALUES ?g { <urn:c1> <urn:c2> } }");
    const refused = await client.update(\`INSERT DATA { GRAPH <urn:big> { <urn:t> <urn:p> "\${"x".repeat(1_200_000)}" } }\`)
      .then(() => "taken", (error) => error.name);
    await insert(2);
    const count = (await client.select("SELECT ?o { GRAPH <urn:g> { <urn:s> <urn:p> ?o } }")).length;
    const lost = await client.ask("ASK { <urn:t> ?p ?o }");
    await store.stop();
    console.log(JSON.stringify({ refused, count, lost, warnings }));
    process.exit(0);`;
  const { stdout, stderr } = spawnSync(
    "bash",
    ["-c", `ulimit -f 2048; exec "$0" --input-type=module -e "$1"`, process.execPath, script],
    { cwd: fileURLToPath(new URL("..", import.meta.url)), encoding: "utf8" },
  );
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({
    refused: "GraphUnavailable",
    count: 2,
    lost: false,
    warnings: [expect.stringContaining("EFBIG")],
  });
  expect(await names(/\.part$|^snapshot/)).toEqual([]);
  await start();
  expect(await values()).toEqual([1, 2]);
  expect(await client.ask("ASK { GRAPH <urn:c2> { ?s ?p ?o } }")).toBe(true);
  expect(warnings).toEqual([]);
});
