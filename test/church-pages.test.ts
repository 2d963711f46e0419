// Long pages of the church search are made in parts: nobody can tell from the page, and others have their turn in between.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { Database } from "../server/database.ts";
import type { Identity } from "../server/identity/identity.ts";
import { CallerGone, ServiceBusy } from "../server/postgres/unavailable.ts";
import { ChurchPages } from "../server/resources/church-pages.ts";
import { insertChurches } from "./support/churches.ts";
import { eventually } from "./support/eventually.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

describe("a page of three parts", () => {
  const CHURCHES = 1_250;
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
    await insertChurches(
      service.database.owner,
      Array.from({ length: CHURCHES }, (_, i) => ({
        church_id: `c${String(i).padStart(4, "0")}`,
        latitude: 30 + (i % 40) / 1000,
        longitude: 40 + Math.floor(i / 40) / 1000,
      })),
    );
  });
  afterAll(() => service.stop());

  /** The same in one piece. */
  async function whole(body: Record<string, unknown>, maxBytes: number): Promise<string> {
    const { rows } = await service.database.owner.query<{ page: string }>(
      "select app_private.church_page($1, $2) as page",
      [JSON.stringify(body), maxBytes],
    );
    return rows[0]!.page;
  }

  test.each<[string, Record<string, number | string>]>([
    ["in order of the ids", { limit: 10_000 }],
    ["with one more to come", { limit: 1_249 }],
    ["with none to come", { limit: 1_250 }],
    ["which end with the second", { limit: 1_001, format: "geojson" }],
    ["by distance", { limit: 10_000, center_lat: 30, center_lng: 40, radius_km: 100 }],
    ["by name, for there are too many to rank", { limit: 10_000, q: "church" }],
  ])("is the same text as in one: %s", async (_, query) => {
    const url = new URL("/v0/orgs/search", service.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    const answer = await fetch(url, { headers: { authorization: `Bearer ${service.keys.read}` } });
    const [text, { headers }] = [await answer.text(), answer];
    const expected = await whole(query, 10_000_000);
    expect(text).toBe(expected);
    const { limit, next_cursor: cursor } = JSON.parse(expected) as Record<string, unknown>;
    expect([headers.get("x-limit"), headers.get("x-next-cursor")]).toEqual([String(limit), cursor]);
  });

  test.each([
    ["is refused", "min_lat=1"],
    ["is refused by the database", "cursor=x"],
    ["is refused in parts", "limit=10000&cursor=x"],
  ])("that %s is so as JSON, and not as GeoJSON", async (_, query) => {
    const url = `${service.url}/v0/orgs/search?format=geojson&${query}`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${service.keys.read}` } });
    expect(answer.status).toBe(400);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    expect(answer.headers.get("vary")?.toLowerCase()).toBe("accept");
  });

  test("ends where it has as many bytes as it may, whichever part that is in", async () => {
    const length = Buffer.byteLength(await whole({ limit: 10_000 }, 10_000_000));
    const ends = new Set<number>();
    for (const share of [0.2, 0.39, 0.41, 0.6, 0.79, 0.81, 0.99]) {
      const maxBytes = Math.round(length * share);
      const { rows } = await service.database.owner.query<{ page: string }>(
        `with recursive parts as (
           select 1 as part, array(select app_private.church_page_in_pieces($1, $2, '{}')) as pieces
           union all
           select part + 1, array(select app_private.church_page_in_pieces($1, $2, pieces[cardinality(pieces)]::jsonb))
           from parts where pieces[cardinality(pieces)] not like '%"has_more":%')
         select string_agg(array_to_string(
           case when part = (select max(part) from parts) then pieces else trim_array(pieces, 1) end, ''), '' order by part) as page
         from parts`,
        [JSON.stringify({ limit: 10_000 }), maxBytes],
      );
      const page = await whole({ limit: 10_000 }, maxBytes);
      expect(rows[0]!.page).toBe(page);
      ends.add((JSON.parse(page) as { items: unknown[] }).items.length);
    }
    expect(ends.size).toBe(7);
  });

  test("has a part of twice as many after one that was slow, which may have been on its way for most of the time", async () => {
    const { owner } = service.database;
    const mostAfter = async () => {
      const { rows } = await owner.query<{ last: string }>(
        `select (array_agg(piece))[count(*)] as last
         from app_private.church_page_in_pieces('{"limit": 10000}', 10000000, '{}') as pieces (piece)`,
      );
      return (JSON.parse(rows[0]!.last) as { most: number }).most;
    };
    // Again where the machine is slow.
    await eventually(async () => expect(await mostAfter()).toBe(500));
    const blocker = await owner.connect();
    await blocker.query("begin; lock table app_public.churches in access exclusive mode");
    const slow = mostAfter();
    await eventually(async () => {
      const { rows } = await owner.query(
        `select from pg_locks join pg_database on pg_database.oid = database
         where not granted and datname = current_database()`,
      );
      expect(rows).toHaveLength(1);
    });
    await sleep(150);
    await blocker.query("rollback");
    blocker.release();
    expect(await slow).toBe(1_000);
  });

  test("has parts of as many as the place says at which they begin", async () => {
    const { rows } = await service.database.owner.query<{ last: string }>(
      `select (array_agg(piece))[count(*)] as last
       from app_private.church_page_in_pieces('{"limit": 10000}', 10000000, '{"most": 700}') as pieces (piece)`,
    );
    expect(JSON.parse(rows[0]!.last)).toMatchObject({ listed: 700 });
  });
});

describe("while a page is made", () => {
  const END = '],"limit":5000,"has_more":true,"next_cursor":"next"}';
  type Asked = { by: string; place: unknown; answer: (pieces: string[]) => void };
  const asked: Asked[] = [];
  const database = {
    readPieces: ({ id }: Identity, _statement: string, { place }: Record<string, unknown>) =>
      new Promise((answer) => asked.push({ by: id, place, answer })),
  } as unknown as Database;
  afterEach(() => {
    asked.length = 0;
    jest.restoreAllMocks();
  });

  const identity = (id: string, gone = new AbortController().signal) => ({ id, gone }) as unknown as Identity;
  /** Begins a page, and says what became of it. */
  function begin(pages: ChurchPages, caller: Identity, limit = 5_000, told?: (end: object) => void) {
    const page = Array.fromAsync(pages.page(caller, { limit }, 1, told));
    page.catch(() => undefined);
    return page;
  }
  const turn = async () => {
    for (let n = 0; n < 10; n += 1) await new Promise(setImmediate);
  };
  const places = () => asked.map(({ by, place }) => [by, place]);

  test("each part begins where the one before ended, and the last says what the page says", async () => {
    const ends: object[] = [];
    const page = begin(new ChurchPages(database), identity("a"), 5_000, (end) => ends.push(end));
    await turn();
    asked[0]!.answer(["1", "2", "second"]);
    await eventually(() => expect(asked).toHaveLength(2));
    asked[1]!.answer(["3", "third"]);
    await eventually(() => expect(asked).toHaveLength(3));
    asked[2]!.answer(["4", END]);
    expect(await page).toEqual(["1", "2", "3", "4", END]);
    expect(places()).toEqual([
      ["a", "{}"],
      ["a", "second"],
      ["a", "third"],
    ]);
    expect(ends).toEqual([{ limit: "5000", nextCursor: "next" }]);
  });

  test("a caller has no second long one, but short ones, and others have their own", async () => {
    const pages = new ChurchPages(database);
    const first = begin(pages, identity("a"));
    const second = begin(pages, identity("a"));
    const short = begin(pages, identity("a"), 1_000);
    const other = begin(pages, identity("b"), 1_001);
    await turn();
    expect(places()).toEqual([
      ["a", undefined],
      ["a", "{}"],
      ["b", "{}"],
    ]);
    for (const { answer } of asked) answer([END]);
    expect(await Promise.all([first, short, other])).toEqual([[END], [END], [END]]);
    await turn();
    expect(asked).toHaveLength(4);
    asked[3]!.answer([END]);
    expect(await second).toEqual([END]);
  });

  test("callers share no turns: however many have a long one, one more has its own", async () => {
    const pages = new ChurchPages(database);
    const callers = Array.from({ length: 30 }, (_, i) => `caller ${i}`);
    const begun = callers.map((caller) => begin(pages, identity(caller)));
    await turn();
    expect(asked.map(({ by }) => by)).toEqual(callers);
    for (const { answer } of asked) answer([END]);
    expect(await Promise.all(begun)).toHaveLength(30);
  });

  test("who has waited for others rests no longer than a fifth of a second", async () => {
    let now = 0;
    jest.spyOn(performance, "now").mockImplementation(() => now);
    const page = begin(new ChurchPages(database), identity("a"));
    await turn();
    now = 3_600_000;
    asked[0]!.answer(["1", "second"]);
    await eventually(() => expect(asked).toHaveLength(2));
    asked[1]!.answer([END]);
    expect(await page).toEqual(["1", END]);
  });

  test("it rests after each part for as long as the part has taken, and somebody who hangs up leaves it", async () => {
    let now = 0;
    jest.spyOn(performance, "now").mockImplementation(() => now);
    const pages = new ChurchPages(database);
    const gone = new AbortController();
    const page = begin(pages, identity("a", gone.signal));
    const next = begin(pages, identity("a"));
    await turn();
    now = 200;
    asked[0]!.answer(["1", "second"]);
    // By then what rests for no time has gone on.
    await sleep(20);
    expect(places()).toEqual([["a", "{}"]]);
    gone.abort();
    await expect(page).rejects.toThrow(CallerGone);
    await turn();
    expect(places()).toEqual([
      ["a", "{}"],
      ["a", "{}"],
    ]);
    asked[1]!.answer([END]);
    expect(await next).toEqual([END]);
  });

  test("who hangs up waits no longer for a turn, and nothing is asked for them", async () => {
    const pages = new ChurchPages(database);
    const gone = new AbortController();
    const first = begin(pages, identity("a"));
    const told: unknown[] = [];
    begin(pages, identity("a", gone.signal)).catch((error: unknown) => told.push(error));
    await turn();
    gone.abort();
    await turn();
    expect(told).toEqual([expect.any(CallerGone)]);
    asked[0]!.answer([END]);
    expect(await first).toEqual([END]);
    await turn();
    expect(asked).toHaveLength(1);
  });

  test("who reads no further leaves its turn to the next", async () => {
    const pages = new ChurchPages(database);
    const reader = pages.page(identity("a"), { limit: 5_000 }, 1);
    const reading = reader.next();
    const next = begin(pages, identity("a"));
    await turn();
    asked[0]!.answer(["1", "second"]);
    expect(await reading).toEqual({ done: false, value: "1" });
    await reader.return();
    await turn();
    asked[1]!.answer([END]);
    expect(await next).toEqual([END]);
  });

  test("twenty of a caller wait for their turn, and no more", async () => {
    const pages = new ChurchPages(database);
    const waiting = Array.from({ length: 22 }, () => begin(pages, identity("a")));
    await expect(waiting[21]).rejects.toThrow(ServiceBusy);
    await turn();
    for (let n = 0; n < 21; n += 1) {
      asked[n]!.answer([END]);
      await turn();
    }
    expect(await Promise.all(waiting.slice(0, 21))).toHaveLength(21);
  });
});
