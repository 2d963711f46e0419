// `graph rebuild` is killed, or the store under it: each named graph must be either all old or all new. To
// tell them apart, every record in the old graph is marked.
import { setTimeout as sleep } from "node:timers/promises";
import { DATA, GRAPHS, NS, readExpected, same } from "../expected.ts";
import { readGraph } from "../graph-reader.ts";
import { WATCHFUL } from "../service.ts";
import type { Service } from "../service.ts";
import { conclude, fill } from "../trial.ts";
import type { Finding, Scenario, Trial } from "../trial.ts";
import type { Kind } from "../writer.ts";

const KINDS = Object.keys(GRAPHS) as Kind[];
const SETTLED_AFTER_MS = 1_500;
const MARK = `${NS}faultTrial`;

const markAll = Object.values(GRAPHS)
  .map(
    (graph) => `INSERT { GRAPH <${graph}> { ?s <${MARK}> "old" } } WHERE { GRAPH <${graph}> { ?s a ?type } }`,
  )
  .join(" ;\n");

async function* run(trial: Trial): AsyncGenerator<Finding> {
  const { service, random, rounds } = trial;
  const log = await fill(trial, trial.seconds * 1000);
  const whole = await rebuildUndisturbed(service);
  for (let round = 1; round <= rounds; round += 1) {
    await service.alter(markAll);
    const victim = random.pick(["rebuild", "rebuild", "store"] as const);
    const atByte = service.proxy && whole.bytes > 0 ? random.between(1, whole.bytes - 1) : undefined;
    // Only some are killed by time, because most of those kills come while the command is still starting.
    const where =
      atByte !== undefined && round % 3 !== 0
        ? await killAtByte(service, victim, atByte, round % 2 === 1)
        : await killAtTime(service, victim, random.between(whole.ms * 0.3, whole.ms));
    // A store may take a while to notice the end of a connection.
    await sleep(SETTLED_AFTER_MS);
    const complaints = await notWhole(service);
    // The marks of an old graph are drift, which the background verification finds.
    await service.configure(WATCHFUL);
    yield await conclude(trial, `${victim} killed ${where}`, log, { complaints });
    await service.configure({});
  }
}

/** How long a rebuild takes, and how many bytes it sends. */
async function rebuildUndisturbed({ admin, proxy }: Service): Promise<{ ms: number; bytes: number }> {
  const start = Date.now();
  if (proxy) proxy.written = 0;
  const command = admin("graph", "rebuild");
  if ((await command.ended) !== 0) throw new Error(command.output().stderr);
  return { ms: Date.now() - start, bytes: proxy?.written ?? 0 };
}

type Victim = "rebuild" | "store";

/** @param statementEnd whether to cut after the statement, so that what has arrived looks whole */
async function killAtByte(
  service: Service,
  victim: Victim,
  at: number,
  statementEnd: boolean,
): Promise<string> {
  const proxy = service.proxy!;
  proxy.written = 0;
  const command = service.admin("graph", "rebuild");
  let back: Promise<void> | undefined;
  proxy.cut = {
    at,
    statementEnd,
    strike: () => {
      back = victim === "store" ? service.kill("store", 500) : command.end("SIGKILL").then(() => undefined);
      // Awaited below.
      back.catch(() => undefined);
    },
  };
  await command.ended;
  const struck = proxy.cut === undefined;
  proxy.cut = undefined;
  await back;
  return struck
    ? `${statementEnd ? "after the statement at" : "at"} byte ${at}`
    : `not: it sent fewer than ${at} bytes`;
}

async function killAtTime(service: Service, victim: Victim, after: number): Promise<string> {
  const command = service.admin("graph", "rebuild");
  await sleep(after);
  if (victim === "rebuild") await command.end("SIGKILL");
  else await service.kill("store", 500);
  await service.ready();
  await command.ended;
  return `after ${(after / 1000).toFixed(1)} s`;
}

/** The graphs that are neither the marked one nor what the tables say. */
async function notWhole(service: Service): Promise<string[]> {
  const complaints: string[] = [];
  for (const kind of KINDS) {
    const said = await readGraph(service.graph(), GRAPHS[kind]);
    const expected = await readExpected(service, kind);
    const mark = `${MARK} "old"`;
    const marked = [...said.values()].filter((facts) => facts.delete(mark)).length;
    const equal = [...expected].filter(([subject, { facts }]) =>
      same(facts, said.get(subject) ?? new Set()),
    ).length;
    if (said.size === expected.size && equal === expected.size && [0, said.size].includes(marked)) continue;
    const graph = GRAPHS[kind].slice(DATA.length);
    complaints.push(
      `${graph} is a mixture: ${equal} of ${expected.size} records, ${marked} of ${said.size} old`,
    );
  }
  return complaints;
}

export const killedRebuild: Scenario = {
  name: "killed-rebuild",
  fault: "graph rebuild, or the store under it, is killed at any byte",
  stores: ["fuseki", "embedded"],
  run,
};
