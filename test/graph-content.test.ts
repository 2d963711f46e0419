// What the list of commitments takes from the graph, and when it does without.
import { expect, test } from "@jest/globals";
import { createNames } from "../graph/namespaces.ts";
import type { Row } from "../graph/store.ts";
import type { GraphReads } from "../server/graph-reads.ts";
import type { Identity } from "../server/identity/identity.ts";
import { withGraphContent } from "../server/resources/commitments-from-graph.ts";

const names = createNames({ graphDataUrl: "https://data.example.org", namespaceUrl: "https://ns.example/#" });
const listed = { commitmentId: "1", updatedAt: "2026-01-01T00:00:00+00:00", graphStatus: "synced" };
const term = (value: string) => ({ type: "literal", value }) as const;
const from = (rows: Row[] | undefined, commitments = [listed]) => {
  const graph = { select: () => Promise.resolve(rows) } as unknown as GraphReads;
  return withGraphContent(graph, names, commitments, {} as Identity);
};

test.each<[string, Row[] | undefined]>([
  ["nothing", undefined],
  ["no rows", []],
  ["an empty row", [{}]],
  ["what was answered to another question", [{ a: term("x") }]],
])("a graph that answers %s has not answered", async (_, rows) => {
  expect(await from(rows)).toBeUndefined();
  expect(await from(rows, [])).toBeUndefined();
});

test("a graph that was asked just now has answered, though it holds none of them: they are pending", async () => {
  expect(await from([{ asked: term("just now") }])).toEqual([{ ...listed, graphStatus: "pending" }]);
  const rejected = { ...listed, graphStatus: "rejected" };
  expect(await from([{ asked: term("just now") }], [rejected])).toEqual([rejected]);
  expect(await from([{ asked: term("just now") }], [])).toEqual([]);
});
