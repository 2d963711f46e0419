// What a thread with a store does with what it is asked, compared with all that it then holds.
import { readdirSync } from "node:fs";
import { getPriority } from "node:os";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { TaskRefused } from "../graph/embedded/tasks.ts";
import type { Answer, Change, Dataset } from "../graph/embedded/tasks.ts";
import { StoreThread } from "../graph/embedded/thread.ts";
import { eventually } from "./support/eventually.ts";
import { question } from "./support/store-question.ts";

jest.setTimeout(60_000);

let thread: StoreThread;
beforeEach(() => {
  thread = new StoreThread({ background: false }, () => undefined);
});
afterEach(() => thread.end());

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (answer: Answer) => new TextDecoder().decode(answer.bytes);
const fill = (quads: string, sequence = 0, filled = thread) =>
  filled.ask({ kind: "fill", image: { sequence, quads: bytes(quads) } }, 60_000);
const change = (what: Change, checked = false) =>
  thread.ask({ kind: "change", change: what, checked }, 60_000);
const load = (graph: string | null, data: string, replace: boolean, base?: string): Change => ({
  ...{ kind: "load", graph, type: "text/turtle", data: bytes(data), replace, base },
});
const drop = (graph: string | null): Change => ({ kind: "drop", graph });
/** Everything that it holds, in order. */
const held = async () =>
  text(await thread.ask({ kind: "dump" }, 60_000))
    .split("\n")
    .filter((line) => line !== "")
    .toSorted();

const HELD = ['<urn:s> <urn:p> "a" <urn:a> .', '<urn:s> <urn:p> "b" <urn:b> .', '<urn:s> <urn:p> "d" .'];
const [A, B, D] = HELD as [string, string, string];
const NEW = '<urn:s> <urn:p> "n"';
const isNew = (graph: string) => `${NEW}${graph} .`;

test.each<[string, Change, boolean, string[]]>([
  [
    "put takes the place of its graph alone",
    load("urn:a", `${NEW} .`, true),
    true,
    [B, D, isNew(" <urn:a>")],
  ],
  ["put makes a graph", load("urn:c", `${NEW} .`, true), false, [A, B, D, isNew(" <urn:c>")]],
  [
    "put takes the place of the default graph alone",
    load(null, `${NEW} .`, true, "urn:x"),
    true,
    [A, B, isNew("")],
  ],
  ["post adds to its graph", load("urn:a", `${NEW} .`, false), true, [A, B, D, isNew(" <urn:a>")]],
  ["post makes a graph", load("urn:c", `${NEW} .`, false), false, [A, B, D, isNew(" <urn:c>")]],
  ["post adds to the default graph", load(null, `${NEW} .`, false), true, [A, B, D, isNew("")]],
  ["one graph is dropped", drop("urn:b"), true, [A, D]],
  ["none is dropped that is not there", drop("urn:c"), false, [A, B, D]],
  ["the default graph is dropped", drop(null), true, [A, B]],
])("%s", async (_, what, existed, expected) => {
  for (const checked of [false, true]) {
    await fill(HELD.join("\n"), 41);
    expect(await change(what, checked)).toMatchObject({ existed, sequence: 42 });
    expect(await held()).toEqual(expected.toSorted());
  }
});

test("without triples of its own the default graph is not there, whatever is in others", async () => {
  await fill(A);
  expect(await change(drop(null))).toMatchObject({ existed: false });
  expect(await change(load(null, `${NEW} .`, true))).toMatchObject({ existed: false });
  expect(await change(drop(null))).toMatchObject({ existed: true });
  expect(await held()).toEqual([A]);
});

test("what is filled takes the place of all that was there, and its number with it", async () => {
  await fill(HELD.join("\n"), 41);
  expect(await fill(B, 7)).toMatchObject({ sequence: 7 });
  expect(await thread.ask({ kind: "dump" }, 60_000)).toMatchObject({ sequence: 7 });
  expect(await held()).toEqual([B]);
});

test("relative names in a document are relative to what came with it, or else to its graph", async () => {
  await change(load("http://g.example/a/", "<s> <p> <o> .", true, "http://b.example/x/y"));
  await change(load("http://g.example/b/", "<s> <p> <o> .", true));
  await change(load("http://g.example/c/", "<s> <p> <o> .", false, "http://b.example/x/y"));
  const named = (base: string) => ["s", "p", "o"].map((name) => `<${base}${name}>`).join(" ");
  expect(await held()).toEqual(
    [
      `${named("http://b.example/x/")} <http://g.example/a/> .`,
      `${named("http://b.example/x/")} <http://g.example/c/> .`,
      `${named("http://g.example/b/")} <http://g.example/b/> .`,
    ].toSorted(),
  );
});

test("relative names in an update and a query are relative to what Fuseki has for them", async () => {
  const base = "http://server/unset-base/";
  await change({ kind: "update", sparql: "INSERT DATA { GRAPH <g> { <s> <p> <o> } }" });
  expect(await held()).toEqual([`<${base}s> <${base}p> <${base}o> <${base}g> .`]);
  const datasets: Dataset[] = ["union", "query", { defaultGraphs: [`${base}g`], namedGraphs: [] }];
  for (const dataset of datasets)
    for (const quick of [true, false]) {
      const from = dataset === "query" ? " FROM <g>" : "";
      const asked = { ...question(`SELECT ?o${from} { <s> <p> ?o }`, quick), dataset, after: 0 };
      expect(text(await thread.ask(asked as never, 60_000))).toBe(`o\r\n${base}o\r\n`);
    }
});

test("what is put or was taken before need not be well-formed in all its names; what is added does", async () => {
  // No language tag has a part of more than eight letters.
  const lax = '<urn:s> <urn:p> "x"@englishlanguage';
  await expect(change(load("urn:c", `${lax} .`, false))).rejects.toThrow(TaskRefused);
  await expect(change(load("urn:c", `${lax} .`, true))).rejects.toThrow(TaskRefused);
  expect(await held()).toEqual([]);
  await change(load("urn:c", `${lax} .`, false), true);
  await change(load("urn:d", `${lax} .`, true), true);
  const both = [`${lax} <urn:c> .`, `${lax} <urn:d> .`];
  expect(await held()).toEqual(both);
  await fill(both.join("\n"));
  expect(await held()).toEqual(both);
});

test("a change says how much memory it took, and an image what is free again of what it took", async () => {
  const filled = await fill(A);
  expect(filled.freeBytes).toBeGreaterThan(0);
  expect(filled.freeBytes).toBeLessThan(filled.memoryBytes!);
  // More than was free.
  const doublings = Array.from({ length: 24 }, (_, i) => `BIND(CONCAT(?v${i}, ?v${i}) AS ?v${i + 1})`);
  const sparql = `INSERT { GRAPH <urn:g> { <urn:s> <urn:p> ?v24 } } WHERE { BIND("0123456789" AS ?v0) ${doublings.join(" ")} }`;
  const grown = await change({ kind: "update", sparql });
  expect(grown.grownBytes).toBeGreaterThan(10_000_000);
  expect(await change({ kind: "update", sparql: "INSERT DATA { }" })).toMatchObject({ grownBytes: 0 });
});

const isLinux = process.platform === "linux" && getPriority() < 5;
(isLinux ? test : test.skip)(
  "a copy leaves the processor to everything else, the thread that writes does not",
  async () => {
    /** How many threads of this process have stepped back. */
    const behind = () =>
      readdirSync("/proc/self/task").filter((id) => {
        try {
          return getPriority(Number(id)) === 5;
        } catch {
          // It has ended meanwhile.
          return false;
        }
      }).length;
    // Those of earlier tests may be about to end.
    await eventually(() => expect(behind()).toBe(0));
    await fill(A);
    expect(behind()).toBe(0);
    const copy = new StoreThread({ background: true }, () => undefined);
    try {
      await fill(A, 0, copy);
      expect(behind()).toBe(1);
    } finally {
      copy.end();
    }
    await eventually(() => expect(behind()).toBe(0));
  },
);
