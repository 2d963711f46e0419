// What one caller sorts in Fuseki does not take the memory of all: beyond a number of solutions it goes on in files. Nor do its mistakes
// fill the log.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { createGraphStore, storeUrls, type GraphStore } from "../graph/store.ts";
import type { Fuseki } from "../graph/fuseki/launch.ts";
import { eventually } from "./support/eventually.ts";
import { fusekiIsAvailable, startFuseki } from "./support/fuseki.ts";

jest.setTimeout(300_000);

const inFuseki = fusekiIsAvailable ? test : test.skip;
/** Each with each 360,000 pairs, which in memory take more than Fuseki is given here. */
const THINGS = 600;
/** Of these as many pairs as are put into files twice. */
const SOME = 200;
const TIMEOUT_MS = 240_000;
const PAIRS = "?a <urn:number> ?x . ?b <urn:number> ?y";

let dir: string;
let fuseki: Fuseki;
let store: GraphStore;

beforeAll(async () => {
  if (!fusekiIsAvailable) return;
  dir = await mkdtemp(join(tmpdir(), "engagement-fuseki-memory-"));
  fuseki = await startFuseki({ dir, javaOptions: "-Xmx96m -XX:+UseSerialGC", queryTimeoutMs: TIMEOUT_MS });
  store = createGraphStore({ ...storeUrls(fuseki.url), user: fuseki.user, password: fuseki.password });
  const things = Array.from(
    { length: THINGS },
    (_, n) => `<urn:thing:${n}> <urn:number> ${(n * 11) % THINGS}`,
  );
  await store.update(`INSERT DATA { GRAPH <urn:things> { ${things.join(" . ")} } }`);
});
afterAll(async () => {
  if (!fusekiIsAvailable) return;
  await fuseki.stop();
  await rm(dir, { recursive: true });
});

inFuseki.each([
  ["sorted", `SELECT ?a ?b { ${PAIRS} } ORDER BY DESC(?y) ?x`],
  ["told apart", `SELECT DISTINCT ?a ?b { ${PAIRS} }`],
])("what is %s need not fit into the memory of Fuseki, which keeps no file of it", async (_title, pairs) => {
  const [row] = await store.select(`SELECT (COUNT(*) AS ?n) { { ${pairs} } }`, { timeoutMs: TIMEOUT_MS });
  expect(row?.["n"]?.value).toBe(String(THINGS ** 2));
  expect(await readdir(join(dir, "sorting"))).toEqual([]);
});

inFuseki("what is sorted in files comes in order, and all of it", async () => {
  const some = `?a <urn:number> ?x . ?b <urn:number> ?y filter(?x < ${SOME} && ?y < ${SOME})`;
  const rows = await store.select(`SELECT ?x ?y { ${some} } ORDER BY DESC(?y) ?x`, { timeoutMs: TIMEOUT_MS });
  // A difference of forty thousand is nothing to print.
  const misplaced = rows.findIndex(
    (row, n) =>
      Number(row["x"]!.value) !== n % SOME || Number(row["y"]!.value) !== SOME - 1 - Math.floor(n / SOME),
  );
  expect({ rows: rows.length, misplaced }).toEqual({ rows: SOME * SOME, misplaced: -1 });
});

inFuseki("what is looked for and not there is not kept, however long it is", async () => {
  // A megabyte each, and all together twice the memory of Fuseki; the service lets no caller look for so much.
  const doubled = Array.from({ length: 9 }, (_, n) => `BIND(CONCAT(?t${n}, ?t${n}) AS ?t${n + 1})`).join(" ");
  const start = `BIND("${"ж".repeat(1_000)}" AS ?t0) ${doubled}`;
  for (let n = 0; n < 200; n++)
    expect(await store.ask(`ASK { ${start} BIND(CONCAT("${n}", ?t9) AS ?text) ?a <urn:number> ?text }`)).toBe(
      false,
    );
});

inFuseki.each([
  ["compared", "SELECT ?a { ?a <urn:number> ?x } ORDER BY LCASE(?a)"],
  [
    "read",
    'SELECT ?a { ?a <urn:number> ?x FILTER(STRDT(CONCAT("a", STR(?x)), <http://www.w3.org/2001/XMLSchema#date>) < NOW()) }',
  ],
])("values that cannot be %s are no lines of the log", async (_title, query) => {
  await store.select(query);
  await eventually(() => expect(fuseki.lastWords()).toMatch(/ Fuseki +INFO .* 200 OK.*\n$/));
  expect(fuseki.lastWords()).toContain(query);
  expect(fuseki.lastWords()).not.toContain("WARN");
});
