// The connection on which PostGraphile asks what there is in the database.
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import type pg from "pg";
import { createPool } from "../db/pool.ts";
import { RequestConnections } from "../server/graphql/connections.ts";
import { DatabaseUnavailable } from "../server/postgres/unavailable.ts";
import { createTestDatabase } from "./support/database.ts";
import type { TestDatabase } from "./support/database.ts";

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool(database.url, { max: 1 });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** Has a statement run on PostGraphile's own behalf. */
async function ask(text: string): Promise<readonly unknown[]> {
  const service = new RequestConnections(undefined as never, 0).service(pool);
  const withClient = await service.adaptor.createWithPgClient(service.adaptorSettings ?? {});
  const { rows } = await withClient(null, (client) => client.query({ text }));
  return rows;
}

/** Has the pool hand on, so many times, a connection that it has not yet heard to be broken. */
async function handOnBroken(times: number) {
  const client = await pool.connect();
  const broken = new Promise((resolve) => client.once("end", resolve));
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  await database.owner.query("select pg_terminate_backend($1)", [rows[0]!.pid]);
  await broken;
  const handing = jest.spyOn(pool, "connect");
  const release = jest.spyOn(client, "release");
  for (let n = 1; n <= times; n++) handing.mockReturnValueOnce(Promise.resolve(client) as never);
  if (times > 1) release.mockReturnValueOnce(undefined);
  return handing;
}

test("one that breaks under it is replaced by another", async () => {
  const handing = await handOnBroken(1);
  expect(await ask("select 1 as one")).toEqual([{ one: 1 }]);
  expect(handing).toHaveBeenCalledTimes(2);
  handing.mockRestore();
});

test("where the next one breaks too the database is away", async () => {
  const handing = await handOnBroken(2);
  await expect(ask("select 1 as one")).rejects.toThrow(DatabaseUnavailable);
  expect(handing).toHaveBeenCalledTimes(2);
  handing.mockRestore();
});

test("what the database itself refuses is not asked again", async () => {
  await database.owner.query("create sequence asked");
  await expect(ask("select 1 / (nextval('asked') * 0)")).rejects.toMatchObject({ code: "22012" });
  const { rows } = await database.owner.query("select last_value::integer as times from asked");
  expect(rows).toEqual([{ times: 1 }]);
});
