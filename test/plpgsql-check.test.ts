// What plpgsql_check finds in the functions: names and types that only show when a line is reached.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { startEmbeddedPostgres } from "../db/embedded.ts";
import type { EmbeddedPostgres } from "../db/embedded.ts";
import { migrate } from "../db/migrate.ts";
import { describeWithDistribution } from "./support/distribution.ts";
import { temporaryDataDir } from "./support/process.ts";

/** Findings that are meant to be, each with its reason. */
const ACCEPTED: readonly { finding: RegExp; because: string }[] = [
  {
    finding: /^app_private\.run_as:\d+: security: text type variable is not sanitized$/,
    because:
      "it runs the server's own statements, as the role of a key and never with more rights than its caller",
  },
  {
    finding:
      /^app_private\.(churches_by_rank|churches_in_order|expected_churches):\d+: security: text type variable is not/,
    because: "what is put together was quoted with format() where it was made, in church_conditions",
  },
  {
    finding:
      /^app_private\.(export_person|erase_row_by_row|finish_erasure):\d+: security: text type variable is not sanitized$/,
    because: "tables and columns come from the catalog by way of format(), and the address is a parameter",
  },
  {
    finding: /^app_private\.mark_organizations:\d+: error: relation "(after|before)" does not exist$/,
    because: "it stands at triggers of three kinds, and tells by tg_op which of the two tables there is",
  },
  {
    finding:
      /^app_private\.(record_totals_by|graph_counts):: warning extra: OUT variable "\w+" is maybe unmodified$/,
    because: "their rows come from statements whose columns only PostgreSQL matches with them",
  },
  {
    finding: /^app_(public|private)\.\w+:: warning: name of parameter "(limit|offset)" is reserved keyword$/,
    because: "GraphQL and REST call it that, and in the bodies it stands behind the function's name",
  },
];

describeWithDistribution(
  "plpgsql_check",
  (programs) => {
    let data: Awaited<ReturnType<typeof temporaryDataDir>>;
    let cluster: EmbeddedPostgres;
    let client: pg.Client;

    beforeAll(async () => {
      data = await temporaryDataDir();
      cluster = await startEmbeddedPostgres(data.dir, {}, programs);
      await migrate(cluster.url);
      client = new pg.Client(cluster.url);
      await client.connect();
      await client.query("create extension plpgsql_check");
    });
    afterAll(async () => {
      await client.end();
      await cluster.stop();
      await data.remove();
    });

    /** Errors and warnings of each function in PL/pgSQL, trigger functions with each table that they stand at. */
    async function findings(): Promise<string[]> {
      const { rows } = await client.query<{ finding: string }>(
        `select distinct format('%s:%s: %s: %s', p.oid::regproc, f.lineno, f.level, f.message) as finding
       from pg_proc as p
       left join (select distinct tgfoid, tgrelid, tgoldtable, tgnewtable from pg_trigger where not tgisinternal) as t on t.tgfoid = p.oid
       cross join lateral plpgsql_check_function_tb(
         p.oid, coalesce(t.tgrelid, 0), security_warnings => true, oldtable => t.tgoldtable, newtable => t.tgnewtable) as f
       where p.pronamespace::regnamespace::text in ('app_public', 'app_private', 'rest')
         and p.prolang = (select oid from pg_language where lanname = 'plpgsql')
         and (p.prorettype <> 'trigger'::regtype or t.tgrelid is not null)
       order by finding`,
      );
      return rows.map(({ finding }) => finding);
    }

    test("finds nothing that lacks a reason", async () => {
      const all = await findings();
      expect(all.filter((finding) => !ACCEPTED.some((accepted) => accepted.finding.test(finding)))).toEqual(
        [],
      );
      // A reason that has lost its finding would let a new one pass.
      expect(ACCEPTED.filter(({ finding }) => !all.some((found) => finding.test(found)))).toEqual([]);
    });

    test("would find what is wrong", async () => {
      await client.query(`create function app_private.wrong() returns void language plpgsql as
      $$ begin perform missing from app_public.needs; end $$`);
      expect(await findings()).toContainEqual(
        expect.stringMatching(/^app_private\.wrong:\d+: error: .*missing/),
      );
      await client.query("drop function app_private.wrong");
    });
  },
  "plpgsql_check",
);
