// Steps of the worker that wait for a store for long, with a store and a session that do as they are told.
import { Readable } from "node:stream";
import type { Quad } from "@rdfjs/types";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Pool } from "pg";
import { createNames } from "../graph/namespaces.ts";
import type { GraphSession } from "../graph/session.ts";
import { GraphTimeout, GraphUnconfirmed } from "../graph/store.ts";
import type { CallOptions, GraphStore, QueryOptions } from "../graph/store.ts";
import { literal, namedNode, triple } from "../graph/terms.ts";
import { isShownAsGraph } from "../graph/turns.ts";
import type { RecordKind } from "../records/record.ts";
import { readBySubject } from "../worker/compare.ts";
import { createProjector, write } from "../worker/projection.ts";
import { replaceGraph } from "../worker/replace.ts";
import {
  countUnnamed,
  strangersAmongRecords,
  strangersAmongTurns,
  unlistedGraphs,
} from "../worker/strangers.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(60_000);

const names = createNames({
  graphDataUrl: "https://data.example.org",
  namespaceUrl: "https://ontology.example.org/core#",
});

describe("a whole graph", () => {
  const STALLED_MS = 600_000;
  const session = {
    replace: async (_: string, send: (mark: Quad[]) => Promise<void>) => {
      await send([]);
      return 1n;
    },
    update: () => Promise.resolve(2n),
  } as unknown as GraphSession;
  const subject = (n: number) => [
    triple(namedNode(`https://a.example/s${n}`), namedNode("urn:p"), literal("o")),
  ];

  beforeEach(() => void jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask"] }));
  afterEach(() => void jest.useRealTimers());

  /** Three portions, so much time apart, for a store that shows so many triples afterwards. */
  function replace(apartMs: number, shown = 3, read = true, signal?: AbortSignal) {
    const calls: CallOptions[] = [];
    const counts: CallOptions[] = [];
    async function* subjects() {
      for (const n of [1, 2, 3]) {
        await Promise.resolve();
        jest.advanceTimersByTime(apartMs);
        yield [subject(n)];
      }
    }
    const store = {
      putGraph: async (_graph: string, body: Readable, _type: string, call: CallOptions) => {
        calls.push(call);
        if (read) for await (const _ of body);
        else jest.advanceTimersByTime(apartMs);
        call.signal!.throwIfAborted();
      },
      select: (_query: string, call: CallOptions) => {
        counts.push(call);
        return Promise.resolve([{ n: { type: "literal", value: String(shown) } }]);
      },
    } as unknown as GraphStore;
    const options = { store, session, names, name: "need" as const, ...(signal && { signal }) };
    return { calls, counts, done: replaceGraph({ ...options, subjects: subjects() }) };
  }

  test("may take as long as it takes while the store reads on", async () => {
    const { calls, counts, done } = replace(STALLED_MS - 1);
    expect(await done).toEqual({ turn: 1n, shown: 2n });
    expect(calls).toEqual([{ signal: expect.any(AbortSignal), timeoutMs: 2 ** 31 - 1 }]);
    // Which is counted for as long as a store may be at it: a large graph takes longer than a query may.
    expect(counts).toEqual([{ timeoutMs: STALLED_MS }]);
    expect(jest.getTimerCount()).toBe(0);
  });

  test.each([
    ["in the middle", true, undefined],
    ["at all", false, undefined],
    ["in the middle, although somebody may end it before", true, new AbortController().signal],
    ["at all, although somebody may end it before", false, new AbortController().signal],
  ])("is given up when the store does not read on for ten minutes, %s", async (_, read, signal) => {
    await expect(replace(STALLED_MS, 3, read, signal).done).rejects.toThrow(GraphTimeout);
    expect(jest.getTimerCount()).toBe(0);
  });

  test("is given up when somebody ends it, however soon the store reads on", async () => {
    const ended = AbortSignal.abort(new Error("ended"));
    await expect(replace(0, 3, true, ended).done).rejects.toThrow("ended");
    expect(jest.getTimerCount()).toBe(0);
  });

  test("has what XML cannot hold written after it, where it is still the one that was sent, and counts with the last of it", async () => {
    const updates: { graphs: readonly string[]; text: string }[] = [];
    const counting = {
      ...session,
      update: (graphs: readonly string[], build: (parts: { note: string; condition: string }) => string) => {
        updates.push({ graphs, text: build({ note: "NOTE", condition: "CONDITION" }) });
        return Promise.resolve(BigInt(1 + updates.length));
      },
    } as unknown as GraphSession;
    const bell = (n: number) => [
      triple(namedNode(`https://a.example/bell${n}`), namedNode("urn:p"), literal("\u0007")),
    ];
    let xml = "";
    const store = {
      putGraph: async (_: string, body: Readable) => {
        for await (const piece of body) xml += String(piece);
      },
      select: () => Promise.resolve([{ n: { type: "literal", value: "202" } }]),
    } as unknown as GraphStore;
    async function* subjects() {
      yield [subject(1), ...Array.from({ length: 201 }, (_, n) => bell(n))];
      await Promise.resolve();
    }
    const name = "need" as const;
    const replaced = await replaceGraph({ store, session: counting, names, name, subjects: subjects() });
    expect(replaced).toEqual({ turn: 3n, shown: 4n });
    expect([xml.includes("example/s1"), xml.includes("example/bell")]).toEqual([true, false]);
    expect(updates.map(({ graphs }) => graphs)).toEqual([["need"], ["need"], ["need"]]);
    const texts = updates.map(({ text }) => text);
    expect(texts.map((text) => text.split("example/bell").length - 1)).toEqual([200, 1, 0]);
    const conditional = new RegExp(
      `^NOTE ;\\nINSERT \\{ GRAPH <${names.graphs.need}> \\{[^{}]*\\} \\} WHERE \\{ CONDITION \\}$`,
    );
    for (const text of texts.slice(0, 2)) expect(text).toMatch(conditional);
    expect(texts[2]).toBe("NOTE");
  });

  test("has once what it is given twice", async () => {
    async function* subjects() {
      yield [[...subject(1), ...subject(1)]];
      await Promise.resolve();
    }
    const store = {
      putGraph: async (_graph: string, body: Readable) => {
        for await (const _ of body);
      },
      select: () => Promise.resolve([{ n: { type: "literal", value: "1" } }]),
    } as unknown as GraphStore;
    const done = replaceGraph({ store, session, names, name: "need", subjects: subjects() });
    expect(await done).toEqual({ turn: 1n, shown: 2n });
  });

  test.each([2, 4])("of which the store shows %i triples of three has not arrived", async (shown) => {
    await expect(replace(0, shown).done).rejects.toThrow(GraphUnconfirmed);
  });
});

test("whoever has seen enough of what a graph holds ends the question", async () => {
  const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  const iris = Array.from({ length: 500 }, (_, n) => names.record("need", id(n)));
  const body = new Readable({ read: () => undefined });
  body.push(`?s\n${iris.map((iri) => `<${iri}>\n`).join("")}`);
  const asked: QueryOptions[] = [];
  const store = {
    query: (_: string, options: QueryOptions) => {
      asked.push(options);
      return Promise.resolve({ status: 200, contentType: "text/tab-separated-values", body });
    },
    // One of them has been removed while the graph was being listed.
    select: () => Promise.resolve(iris.slice(1).map((value) => ({ s: { type: "uri", value } }))),
  } as unknown as GraphStore;
  const pool = { query: () => Promise.resolve({ rows: [] }) } as unknown as Pool;
  const strangers = strangersAmongRecords({ pool, store, names }, "need");
  const { value } = await strangers.next();
  expect(value).toEqual(iris.slice(1).map((iri) => ({ iri })));
  // It may be as long as a graph, and is read from the store itself.
  const accept = "text/tab-separated-values";
  expect(asked).toEqual([{ accept, priority: "public", fresh: true, timeoutMs: 3_600_000 }]);
  expect(body.destroyed).toBe(false);
  await strangers.return(undefined);
  expect(body.destroyed).toBe(true);
});

test("a subject that a store names for each of its triples is one", async () => {
  const body = Readable.from(["?s\n<urn:a>\n<urn:a>\n<urn:b>\n"]);
  const store = { query: () => Promise.resolve({ status: 200, body }) } as unknown as GraphStore;
  expect(await strangersAmongTurns(store, names)).toEqual(["urn:a", "urn:b"]);
});

test("a line that cannot be read stands for itself, under its subject, beside those that can", () => {
  const odd = [
    "<urn:\\u00E4> <urn:p> <a b> .",
    "<< <urn:a> <urn:b> <urn:c> >> <urn:p> <urn:o> .",
    "_:b <urn:p> <a b> .",
  ];
  const read = readBySubject(["<urn:\u00e4> <urn:p> <urn:o> .", ...odd, ""].join("\r\n"));
  expect([...read].map(([subject, lines]) => [subject, ...lines])).toEqual([
    ["urn:\u00e4", "<urn:\u00e4> <urn:p> <urn:o> .", odd[0]],
    ["<< <urn:a> <urn:b> <urn:c> >>", odd[1]],
    ["_:b", odd[2]],
  ]);
});

test("what looks through a whole store may take an hour", async () => {
  const asked: unknown[] = [];
  const select = (_: string, options: unknown) => {
    asked.push(options);
    return Promise.resolve([]);
  };
  const store = { select } as unknown as GraphStore;
  await unlistedGraphs(store, names);
  await countUnnamed(store).catch(() => undefined);
  expect(asked).toEqual([{ timeoutMs: 3_600_000 }, { timeoutMs: 3_600_000 }]);
});

describe("an update of records", () => {
  const LONGEST = 8_000_000;
  const projector = createProjector(names);
  const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

  /** Writes needs with texts of these lengths. @returns the lengths of the updates, and what became of the records */
  async function send(...lengths: number[]) {
    const sent: number[] = [];
    const session = {
      update: (_: unknown, build: (parts: { note: string; condition: string }) => string) => {
        sent.push(build({ note: "NOTE", condition: "CONDITION" }).length);
        return Promise.resolve(1n);
      },
    } as unknown as GraphSession;
    const accepted = lengths.map((length, n) => {
      const iri = names.record("need", id(n));
      const quads = [triple(namedNode(iri), namedNode("urn:p"), literal("x".repeat(length)))];
      const revision = { kind: "need" as const, id: id(n), revision: "1", record: undefined };
      return { revision, triples: { kind: "need" as const, id: id(n), iri, quads } };
    });
    const outcomes = await write(projector, session, { accepted, refused: [], gone: [] });
    return { sent, states: outcomes.map(({ state }) => state) };
  }

  test("is sent whole up to eight million characters, and in halves beyond", async () => {
    const [overhead] = (await send(0, 0)).sent;
    const most = await send(LONGEST - overhead!, 0);
    expect(most).toEqual({ sent: [LONGEST], states: ["synced", "synced"] });
    const { sent, states } = await send(LONGEST - overhead!, 1);
    expect(sent).toHaveLength(2);
    expect(states).toEqual(["synced", "synced"]);
  });

  test("numbers the graph of each kind that is in it, of what is only removed too", async () => {
    const kinds: (readonly string[])[] = [];
    const session = {
      update: (graphs: readonly string[]) => {
        kinds.push(graphs.toSorted());
        return Promise.resolve(1n);
      },
    } as unknown as GraphSession;
    const revision = (kind: RecordKind, n: number) => ({ kind, id: id(n), revision: "1", record: undefined });
    const iri = names.record("need", id(1));
    const quads = [triple(namedNode(iri), namedNode("urn:p"), literal("o"))];
    const accepted = [
      { revision: revision("need", 1), triples: { kind: "need" as const, id: id(1), iri, quads } },
    ];
    const refused = [{ revision: revision("commitment", 2), errors: [{ path: "status", message: "No." }] }];
    const gone = [revision("engagement_claim", 3)];
    const outcomes = await write(projector, session, { accepted, refused, gone });
    expect(kinds).toEqual([["commitment", "engagement_claim", "need"]]);
    const became = outcomes.map(({ id: of, state, errors }) => [of, `${state}, ${errors.length} errors`]);
    expect(Object.fromEntries(became)).toEqual({
      [id(1)]: "synced, 0 errors",
      [id(2)]: "rejected, 1 errors",
      [id(3)]: "removed, 0 errors",
    });
    await write(projector, session, { accepted: [], refused: [], gone });
    expect(kinds.at(-1)).toEqual(["engagement_claim"]);
    await write(projector, session, { accepted: [], refused: [], gone: [] });
    expect(kinds).toHaveLength(2);
  });

  test("of which there is one is sent however long it is: a store may take it", async () => {
    const { sent, states } = await send(LONGEST + 1);
    expect(sent).toHaveLength(1);
    expect(states).toEqual(["synced"]);
  });
});

describe("an update is shown by a whole graph", () => {
  const says = (property: string, object: string) =>
    `<${names.turnsGraph}> <${names.ns(property)}> ${object} .\n`;
  const turn = (n: number) => says("projectionTurn", `"${n}"^^<http://www.w3.org/2001/XMLSchema#integer>`);
  const isShown = (answer: () => string | undefined) =>
    isShownAsGraph(
      {
        getGraph: async () => {
          const text = await Promise.resolve(answer());
          return text === undefined ? undefined : { body: Readable.from([Buffer.from(text)]) };
        },
      } as unknown as GraphStore,
      ...([names, 7n, "mine"] as const),
    );

  test.each<[string, string | undefined, boolean]>([
    ["that has its number and its name", turn(7) + says("projectionRun", '"mine"'), true],
    ["with another number, not", turn(70) + says("projectionRun", '"mine"'), false],
    ["with another name, not", turn(7) + says("projectionRun", '"other"'), false],
    ["in which it has begun, not", turn(7) + says("projectionBegun", '"mine"'), false],
    ["that is not there, not", undefined, false],
  ])("%s", async (_, text, expected) => {
    expect(await isShown(() => text)).toBe(expected);
  });

  test("of a store that does not answer, not; a fault of ours is one", async () => {
    const failing = (error: Error) => () => {
      throw error;
    };
    expect(await isShown(failing(new GraphTimeout("no")))).toBe(false);
    await expect(isShown(failing(new TypeError("no")))).rejects.toThrow(TypeError);
  });
});
