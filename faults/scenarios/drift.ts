// Another program writes to the store. Nothing tells the service; its background verification has to find it.
import { setTimeout as sleep } from "node:timers/promises";
import { DATA, GRAPHS, NS } from "../expected.ts";
import { readGraph } from "../graph-reader.ts";
import type { Random } from "../random.ts";
import { WATCHFUL } from "../service.ts";
import type { Service } from "../service.ts";
import { conclude, fill } from "../trial.ts";
import type { Finding, Scenario, Trial } from "../trial.ts";

const NEEDS = GRAPHS.need;
const UNLISTED = `${DATA}/trial/`;
const REPORTED_WITHIN_MS = 30_000;

/** Each gets a random record of the needs' graph. */
const CHANGES: Record<string, (need: string, random: Random) => string> = {
  "a record deleted": (need) => `DELETE WHERE { GRAPH <${NEEDS}> { <${need}> ?p ?o } }`,
  "a triple deleted": (need) => `DELETE WHERE { GRAPH <${NEEDS}> { <${need}> <${NS}needDescription> ?o } }`,
  "a status changed": (need) =>
    `DELETE { GRAPH <${NEEDS}> { <${need}> ?p ?o } } INSERT { GRAPH <${NEEDS}> { <${need}> ?p "sold" } }
     WHERE { GRAPH <${NEEDS}> { <${need}> ?p ?o } FILTER(?p = <${NS}needStatus>) }`,
  "a triple added": (need) =>
    `INSERT DATA { GRAPH <${NEEDS}> { <${need}> <${NS}acceleratorCode> "XX-XXX" } }`,
  "a blank node added": () =>
    `INSERT DATA { GRAPH <${NEEDS}> { [] a <${NS}Need> ; <${NS}needStatus> "open" } }`,
  "a foreign subject added": (_, random) =>
    `INSERT DATA { GRAPH <${NEEDS}> { <${NEEDS}trial-${random.between(1, 1e6)}> a <${NS}Need> } }`,
  "a record in another record's graph": (need) =>
    `INSERT DATA { GRAPH <${GRAPHS.commitment}> { <${need}> <${NS}needStatus> "met" } }`,
  "a country deleted": () => `DELETE WHERE { GRAPH <${DATA}/iso3166/> { <${DATA}/iso3166/NE> ?p ?o } }`,
};

async function* run(trial: Trial): AsyncGenerator<Finding> {
  const { service, random, rounds } = trial;
  const log = await fill(trial, trial.seconds * 1000);
  await service.configure(WATCHFUL);
  try {
    for (let round = 1; round <= Math.ceil(rounds / 4); round += 1) {
      const needs = [...(await readGraph(service.graph(), NEEDS)).keys()];
      // All at once, each to another record.
      const chosen = random.shuffle(needs);
      const changes = Object.values(CHANGES).map((change, index) => change(chosen[index]!, random));
      await service.alter(changes.join(" ;\n"));
      yield await conclude(trial, `${changes.length} changes at once`, log);
    }
    // Only an operator knows whose graph it is, so it is reported and left.
    await service.alter(`INSERT DATA { GRAPH <${UNLISTED}> { <${NEEDS}> <${NS}needStatus> "met" } }`);
    const complaints = (await isReported(service)) ? [] : ["the unlisted named graph was not reported"];
    await service.alter(`DROP GRAPH <${UNLISTED}>`);
    yield await conclude(trial, "an unlisted named graph", log, { complaints });
  } finally {
    await service.configure({});
  }
}

async function isReported(service: Service): Promise<boolean> {
  const deadline = performance.now() + REPORTED_WITHIN_MS;
  while (performance.now() < deadline) {
    const [health] = await service.sql<{ drift: string | null }>("select drift from rest.health");
    if (Number(health?.drift ?? 0) > 0) return true;
    await sleep(200);
  }
  return false;
}

export const drift: Scenario = {
  name: "drift",
  fault: "triples, blank nodes, subjects and named graphs come and go behind the service's back",
  stores: ["embedded", "fuseki"],
  run,
};
