// A long answer is gone through piece by piece: what is said of it, who has a turn meanwhile, and what becomes of one that breaks off.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createGzip } from "node:zlib";
import { afterEach, expect, jest, test } from "@jest/globals";
import express from "express";
import type { Request, RequestHandler, Response } from "express";
import type { Database } from "../server/database.ts";
import type { Identity } from "../server/identity/identity.ts";
import { ChurchPages } from "../server/resources/church-pages.ts";
import { sendAnswer, sendPieces } from "../server/rest/answer.ts";
import { countTurns } from "./support/turns.ts";

// All of it is a matter of milliseconds; what hangs is to be seen soon.
jest.setTimeout(30_000);
afterEach(() => void jest.restoreAllMocks());

/** Asks a handler something. */
async function ask(handler: RequestHandler, headers: Record<string, string> = {}) {
  const app = express().get("/", handler);
  const server = app.listen(0, "127.0.0.1");
  try {
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/`, { headers });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("an answer in pieces says how many bytes it has, also where a piece is a text whose characters are more than bytes", async () => {
  const pieces = ['{"id":"é","page":"', Buffer.from("„ü"), '"}'];
  const { headers, text } = await ask((_request, response) => sendPieces(response, pieces));
  expect(text).toBe('{"id":"é","page":"„ü"}');
  expect(headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
});

test("others have a turn after each piece that is written", async () => {
  const loop = countTurns();
  const at: number[] = [];
  const note = () => void at.push(loop.turns());
  const response = { set: () => undefined, write: note, end: note } as unknown as Response;
  await sendPieces(response, ["1", Buffer.from("2"), "3", "4"]);
  loop.stop();
  expect(at).toHaveLength(5);
  expect(new Set(at).size).toBe(5);
});

test("others have a turn after each piece that is made, before the next one is", async () => {
  const loop = countTurns();
  const at: number[] = [];
  async function* pieces() {
    for (const piece of ["1", "2", "3", "4", "5"]) {
      at.push(loop.turns());
      yield piece;
    }
  }
  const { text } = await ask((request, response) => sendAnswer(request, response, pieces()), {
    "accept-encoding": "identity",
  });
  loop.stop();
  expect(text).toBe("12345");
  // Whether there is more than one is to be known first.
  expect(new Set(at.slice(1)).size).toBe(4);
});

test("a page whose packing breaks off after its second piece gives back its turn, and the caller's next long one is made", async () => {
  const END = '],"limit":5000,"has_more":false,"next_cursor":null}';
  let asked = 0;
  const database = {
    readPieces: () => Promise.resolve((asked += 1) === 1 ? ["1", "2", "3", "place"] : ["[", END]),
  } as unknown as Database;
  const pages = new ChurchPages(database);
  const page = () => pages.page({ id: "a" } as Identity, { limit: 5_000 }, 1);
  const response = Object.fromEntries(
    ["get", "type", "vary", "set", "status"].map((name) => [name, () => undefined]),
  ) as unknown as Response;
  const request = {
    ...{ method: "GET", headers: { "accept-encoding": "gzip" }, get: () => "gzip" },
  } as unknown as Request;
  const { prototype } = createGzip().constructor as { prototype: ReturnType<typeof createGzip> };
  jest.spyOn(prototype, "_transform").mockImplementation((_piece, _encoding, done) => {
    done(new Error("no memory"));
  });
  await expect(sendAnswer(request, response, page())).rejects.toThrow("no memory");
  expect(await Array.fromAsync(page())).toEqual(["[", END]);
});
