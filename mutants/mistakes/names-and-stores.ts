// By which names each process looks for what is in the graph, and in which store.
import type { Mistake } from "../mistake.ts";

const HEALTH = { file: "server/resources/health.ts", tests: ["health"], only: "a store is of use" };
const MIGRATE = { tests: ["cli"], only: "be named otherwise" };
const COMMANDS = { tests: ["cli"], only: "under other names" };

export const NAMES_AND_STORES: readonly Mistake[] = [
  {
    ...HEALTH,
    rule: "another store than the worker's is of no use",
    before: "const isUsable = isThere && isOurs;",
    after: "const isUsable = isThere;",
  },
  {
    ...HEALTH,
    rule: "nor is an empty one",
    before: "seen.identity === storeIdentity",
    after: "(seen.identity ?? storeIdentity) === storeIdentity",
  },
  {
    ...HEALTH,
    rule: "before anything is written a store is nobody's",
    before: "(storeIdentity ?? undefined) === undefined",
    after: "storeIdentity === undefined",
  },
  {
    rule: "a database that has written its graph knows whose store it is",
    file: "db/rules/graph-store.sql",
    before: "where s.turn > 0)",
    after: "where s.turn < 0)",
    tests: ["health"],
    only: "a server with another store",
  },
  {
    rule: "a server looks for the graph under the names that it has",
    file: "server/main.ts",
    before: "  await requireSameNames(pool, config);\n",
    after: "",
    tests: ["start"],
    only: "npm run server does not take",
  },
  {
    ...COMMANDS,
    rule: "so does the operator's tool",
    file: "admin/graph.ts",
    before: "  await requireSameNames(pool, context.config);\n",
    after: "",
  },
  {
    ...MIGRATE,
    rule: "a graph that was written keeps its names",
    file: "db/settings.ts",
    before: "if (rows.length > 0) await requireSameNames",
    after: "if (rows.length > 1) await requireSameNames",
  },
  {
    ...MIGRATE,
    rule: "unless it is to be renamed",
    file: "db/settings.ts",
    before: "if (!mayRename) {",
    after: "if (mayRename !== undefined) {",
  },
  {
    ...MIGRATE,
    rule: "a plan is no way around it",
    file: "admin/migrate.ts",
    before: "settle(client, config, values.rename),",
    after: "settle(client, config, true),",
  },
  {
    rule: "a graph store is not made where nobody asked for it",
    file: "admin/context.ts",
    before: 'if (databaseUrl && !existsSync(join(dataDir, "graph")))',
    after: "if (databaseUrl && !existsSync(dataDir))",
    tests: ["cli"],
    only: "is not made",
  },
  {
    rule: "the log names the variable that is otherwise",
    file: "process/log.ts",
    before: "if (error instanceof OtherNames) return error.message;",
    after: "if (error instanceof OtherNames) return undefined;",
    tests: ["process-parts"],
    only: "names the variable",
  },
];
