// REST against a hand-written route with the same SQL, and against pgbench on the same function.
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { need } from "../records/need.ts";
import { createStatement } from "../server/rest/records.ts";
import { contributor, ORG } from "../test/support/world.ts";
import { against, inTurns, requestsPerSecond, startBenchDatabase, startChild } from "./support.ts";
import type { BenchDatabase, Figure } from "./support.ts";

const NEED = {
  orgUri: ORG,
  orgName: "River Mission",
  declaredByEmail: contributor,
  needDescription: "Audio Scriptures in the heart language of the people of the upper river",
  accelerators: ["PRA", "PRA-INT"],
  concernsPeopleGroupRop3: ["104425"],
  concernsCountryCode: ["KE"],
};

const DECLARE = createStatement(need, NEED);

export async function benchRest(): Promise<Figure[]> {
  const database = await startBenchDatabase();
  const env = { DATABASE_URL: database.serverUrl };
  const [served, handwritten, bare] = await Promise.all([
    startChild("served.ts", env),
    startChild("handwritten.ts", env),
    startChild("handwritten.ts", { ...env, BARE: "1" }),
  ]);
  try {
    const create = (url: string) => () =>
      requestsPerSecond({
        url: `${url}/v0/needs`,
        method: "POST",
        headers: { authorization: `Bearer ${database.key}`, "content-type": "application/json" },
        body: JSON.stringify(NEED),
      });
    const list = (url: string) => () =>
      requestsPerSecond({ url: `${url}/v0/needs`, headers: { authorization: `Bearer ${database.key}` } });

    const pgbench = await pgbenchOf(database);
    const creating = await inTurns(5, {
      served: create(served.url),
      handwritten: create(handwritten.url),
      bare: create(bare.url),
      pgbench: pgbench ?? (() => Promise.resolve(Number.NaN)),
    });
    // A list's cost grows with what it counts, so both get the same table, of a realistic size.
    await database.owner.query("truncate app_public.needs cascade");
    await database.owner.query("truncate app_private.graph_records");
    for (let i = 0; i < 1000; i++) await declare(database);
    await database.owner.query("vacuum analyze");
    const listing = await inTurns(5, {
      served: list(served.url),
      handwritten: list(handwritten.url),
      bare: list(bare.url),
    });

    return [
      {
        subject: "POST /v0/needs against a hand-written route with the same SQL",
        measured: against(creating.served, creating.handwritten),
        aim: "≥ 1",
      },
      {
        subject: "POST /v0/needs against the same on node:http, without a framework",
        measured: against(creating.served, creating.bare),
        aim: "≥ 0.8",
      },
      {
        subject: "GET /v0/needs, 50 of 1,000, against a hand-written route with the same SQL",
        measured: against(listing.served, listing.handwritten),
        aim: "≥ 1",
      },
      {
        subject: "GET /v0/needs, 50 of 1,000, against the same on node:http, without a framework",
        measured: against(listing.served, listing.bare),
        aim: "≥ 0.8",
      },
      {
        subject: "POST /v0/needs against pgbench on the same function",
        measured: creating.pgbench
          ? against(creating.served, creating.pgbench)
          : "not measured: pgbench is not installed",
        aim: "≥ 0.85",
      },
    ];
  } finally {
    await Promise.all([served.stop(), handwritten.stop(), bare.stop()]);
    await database.stop();
  }
}

function declare(database: BenchDatabase): Promise<unknown> {
  return database.owner.query("select app_private.run_as('api_write', $1, $2)", [
    DECLARE,
    JSON.stringify(NEED),
  ]);
}

/** Transactions per second of pgbench on the call that a route makes; undefined if there is no pgbench. */
async function pgbenchOf(database: BenchDatabase): Promise<(() => Promise<number>) | undefined> {
  const run = promisify(execFile);
  try {
    await run("pgbench", ["--version"]);
  } catch {
    return undefined;
  }
  const script = join(database.dir, "declare.sql");
  const oneLine = DECLARE.replaceAll(/\s+/g, " ");
  // pgbench takes :name for one of its own variables, so the casts in the statement are split.
  const text = oneLine.replaceAll("'", "''").replaceAll("::", "' || chr(58) || chr(58) || '");
  await writeFile(
    script,
    `select app_private.run_as('api_write', '${text}', '${JSON.stringify(NEED)}'::jsonb);\n`,
  );
  return async () => {
    const { stdout } = await run("pgbench", [
      "-n",
      "-M",
      "prepared",
      "-c",
      "16",
      "-T",
      "3",
      "-f",
      script,
      database.serverUrl,
    ]);
    return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
  };
}
