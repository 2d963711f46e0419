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
    rule: "before anything is written a store is nobody's",
    before: "owner == null || isOf(owner)",
    after: 'isOf(owner ?? "")',
  },
  {
    ...HEALTH,
    rule: "an earlier look is not for another identity",
    before: "known?.identity !== owner || performance",
    after: "performance",
    only: "shows at the next look",
  },
  {
    ...HEALTH,
    rule: "a store that is silent is told by other signs",
    before: "return known === undefined || known.identity",
    after: "return known?.identity",
    only: "does not say whose",
  },
  {
    ...HEALTH,
    rule: "a slow store is asked for both at the same time",
    before:
      "          known.then(({ owner }) => owner == null || isOf(owner)),\n          countTriples(),\n        ]);",
    after:
      "          true,\n          countTriples(),\n        ]);\n        const { owner } = await known;\n        if (owner != null) await isOf(owner);",
    only: "asked for both",
  },
  {
    ...HEALTH,
    rule: "who asks while the store is being asked waits for the same answer",
    before: "(reading ??= read())",
    after: "read()",
    only: "asked once",
  },
  {
    ...HEALTH,
    rule: "a server does not call a graph well that has other names by now",
    before: " && hasItsNames;",
    after: ";",
    only: "named otherwise",
  },
  {
    ...HEALTH,
    rule: "a database that has written its graph knows whose store it is",
    file: "db/rules/graph-store.sql",
    before: "where s.turn > 0",
    after: "where s.turn < 0",
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
    before: "where exists (select from app_private.graph_store where turn > 0)",
    after: "where false",
  },
  {
    ...MIGRATE,
    rule: "one that nobody has written yet may get others",
    file: "db/settings.ts",
    before: "where exists (select from app_private.graph_store where turn > 0)",
    after: "",
    only: "says what it applied",
  },
  {
    ...MIGRATE,
    rule: "unless it is to be renamed",
    file: "admin/migrate.ts",
    before: "if (!values.rename) await keepNames",
    after: "await keepNames",
  },
  {
    rule: "what is started does not rename it either",
    file: "start.ts",
    before: "  await keepNames(ownerUrl, config);\n",
    after: "",
    tests: ["start"],
    only: "renames nothing",
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
    rule: "nor one taken that is another database's",
    file: "admin/graph.ts",
    before: "return (owner ?? undefined) === identity;",
    after: "return identity === undefined || (owner ?? undefined) === identity;",
    tests: ["cli"],
    only: "left by another",
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
