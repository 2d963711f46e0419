// A named graph that is sent whole is acknowledged but never arrives, or arrives twice, or arrives long
// after its sender has given up.
import { setTimeout as sleep } from "node:timers/promises";
import { GRAPHS, NS } from "../expected.ts";
import { passAll } from "../proxy.ts";
import type { Treatment } from "../proxy.ts";
import { WRITER } from "../service.ts";
import { conclude, fill, whileWriting } from "../trial.ts";
import type { Finding, Scenario, Trial } from "../trial.ts";

// Longer than the timeout of any update.
const LATE_MS = 20_000;

async function* run(trial: Trial): AsyncGenerator<Finding> {
  for (const treatment of ["twice", "late"] as const) {
    yield await deliverAgain(trial, treatment, true);
    yield await deliverAgain(trial, treatment, false);
  }
  yield await swallowRebuild(trial);
  yield await swallowList(trial);
}

/** @param underWrites whether writes go on when it arrives, so that an update could cover it up */
async function deliverAgain(
  trial: Trial,
  treatment: "twice" | "late",
  underWrites: boolean,
): Promise<Finding> {
  const { service, seconds } = trial;
  const proxy = service.proxy!;
  const log = await fill(trial, seconds * 500);
  treatWholeGraphs(trial, treatment, ofRecords);
  const rebuild = service.admin("graph", "rebuild");
  if (treatment === "late") {
    await rebuild.ended;
    proxy.treat = passAll;
    // The worker continues it.
    await rebuilt(trial);
  } else if ((await rebuild.ended) !== 0) throw new Error(rebuild.output().stderr);
  proxy.treat = passAll;
  await whileWriting(trial, log, async () => {
    await sleep(treatment === "late" ? Math.min(LATE_MS, seconds * 1000) : seconds * 500);
    if (!underWrites) return;
    await proxy.deliver();
    await sleep(seconds * 500);
  });
  if (!underWrites) {
    await rest(trial);
    await proxy.deliver();
  }
  const when = underWrites ? "under writes" : "nobody writes";
  return conclude(trial, `a rebuild arrives ${treatment}, ${when}`, log);
}

async function swallowRebuild(trial: Trial): Promise<Finding> {
  const { service, seconds } = trial;
  const log = await fill(trial, seconds * 500);
  // Leaves as many triples as before.
  await service.alter(
    `DELETE { GRAPH <${GRAPHS.need}> { ?s ?p ?o } } INSERT { GRAPH <${GRAPHS.need}> { ?s ?p "drifted" } }
     WHERE { GRAPH <${GRAPHS.need}> { ?s ?p ?o } FILTER(?p = <${NS}needDescription>) }`,
  );
  treatWholeGraphs(trial, { status: 204 }, ofRecords);
  const complaints =
    (await service.admin("graph", "rebuild").ended) === 0 ? ["the rebuild called itself done"] : [];
  service.proxy!.treat = passAll;
  return conclude(trial, "a rebuild over drift is swallowed", log, { complaints });
}

async function swallowList(trial: Trial): Promise<Finding> {
  const { service, seconds } = trial;
  const log = await fill(trial, seconds * 500);
  const rename = (name: string) =>
    service.sql("update app_public.organizations set name = $1 where org_uri = $2", [name, WRITER.orgUri]);
  await rename("Another name");
  await rest(trial);
  treatWholeGraphs(trial, { status: 204 }, ofLists);
  await rename(WRITER.orgName);
  await sleep(seconds * 1000);
  service.proxy!.treat = passAll;
  return conclude(trial, "a list with one name changed is swallowed", log);
}

function treatWholeGraphs(
  { service }: Trial,
  treatment: Treatment,
  ofWhich: (graph: string) => boolean,
): void {
  service.proxy!.treat = (_, changes, graph) =>
    changes && graph !== null && ofWhich(graph) ? treatment : "pass";
}

// The lists come first: if one of them were given up, nothing else would be sent.
const ofRecords = (graph: string) => Object.values(GRAPHS).includes(graph);
const ofLists = (graph: string) => !ofRecords(graph);

/** Waits until nothing is waiting for the graph. */
const rest = (trial: Trial) =>
  until(trial, "select from app_private.graph_store where app_private.graph_behind_since() is null");
const rebuilt = (trial: Trial) =>
  until(trial, "select where not exists (select from app_private.wanted_rebuilds)");

async function until({ service }: Trial, condition: string): Promise<void> {
  while ((await service.sql(condition)).length === 0) await sleep(200);
}

export const wholeGraphs: Scenario = {
  name: "whole-graphs",
  fault: "a whole graph is acknowledged and not delivered, or delivered twice, or late",
  stores: ["fuseki"],
  run,
};
