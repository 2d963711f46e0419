// Large answers of the embedded store: streamed, as for the public, and made at
// once, as for the service itself.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedStore } from "../graph/embedded/index.ts";
import { createGraphStore, storeUrls } from "../graph/store.ts";
import { inTurns, median, round } from "./support.ts";
import type { Figure } from "./support.ts";

const TRIPLES = 100_000;
const ROWS = 1_000_000;
// Multiplied in the query: a store of a million triples would leave the engine too little memory to
// make the whole answer at once.
const PATTERN = `{ graph ?g { ?s ?p ?o } values ?n { ${Array.from({ length: ROWS / TRIPLES }, (_, n) => n).join(" ")} }
  bind(concat(?o, ", ", str(?n)) as ?text) }`;
const FORMS = {
  SELECT: { query: `select ?s ?p ?text where ${PATTERN}`, accept: "application/sparql-results+json" },
  CONSTRUCT: { query: `construct { ?s ?p ?text } where ${PATTERN}`, accept: "application/n-triples" },
};
const ROUNDS = 3;

type Measured = { firstByteMs: number; lastByteMs: number; extraMegabytes: number };

export async function benchAnswers(): Promise<Figure[]> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-bench-answers-"));
  const embedded = await startEmbeddedStore({ dir, queryTimeoutMs: 300_000 });
  const store = createGraphStore(storeUrls(embedded.url));
  try {
    await store.putGraph("https://data.example.org/many/", lines(), "application/n-triples");
    const figures: Figure[] = [];
    for (const [form, { query, accept }] of Object.entries(FORMS)) {
      const streamed = new Set<Measured>();
      const whole = new Set<Measured>();
      const run = (measured: Set<Measured>, headers: Record<string, string>) => async () => {
        const one = await answer(embedded.url, query, { accept, ...headers });
        measured.add(one);
        return one.firstByteMs;
      };
      await inTurns(ROUNDS, { streamed: run(streamed, {}), whole: run(whole, { priority: "u=1" }) });
      figures.push(...compare(form, [...streamed], [...whole]));
    }
    return figures;
  } finally {
    store.close();
    await embedded.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

function compare(form: string, streamed: Measured[], whole: Measured[]): Figure[] {
  const line = (
    subject: string,
    of: (measured: Measured[]) => number,
    unit: string,
    aim?: string,
  ): Figure => ({
    subject: `${subject}, ${form} of ${round(ROWS)}, streamed against at once`,
    measured: `${round(of(streamed) / of(whole))} (${round(of(streamed))} against ${round(of(whole))} ${unit})`,
    aim,
  });
  return [
    line("First byte", (all) => median(all.map((one) => one.firstByteMs)), "ms", "≤ 0.1"),
    line("Last byte", (all) => median(all.map((one) => one.lastByteMs)), "ms"),
    line(
      "Most memory on top of what was in use",
      (all) => Math.max(...all.map((one) => one.extraMegabytes)),
      "MB",
    ),
  ];
}

function lines(): string {
  return Array.from({ length: TRIPLES }, (_, i) => {
    const id = Math.imul(i, 2_654_435_761) >>> 0;
    return `<https://data.example.org/needs/${id.toString(16)}> <https://ontology.example.org/core#needDescription> "need number ${i}, as told" .\n`;
  }).join("");
}

async function answer(datasetUrl: string, query: string, headers: Record<string, string>): Promise<Measured> {
  const { username, password, origin, pathname } = new URL(datasetUrl);
  await forgetPeak();
  const before = await megabytes("VmRSS");
  const start = performance.now();
  const response = await fetch(`${origin}${pathname}/query`, {
    method: "POST",
    body: query,
    headers: {
      authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
      "content-type": "application/sparql-query",
      ...headers,
    },
  });
  if (!response.ok || !response.body) throw new Error(`${response.status}: ${await response.text()}`);
  let firstByteMs: number | undefined;
  for await (const _ of response.body) firstByteMs ??= performance.now() - start;
  const lastByteMs = performance.now() - start;
  return {
    firstByteMs: firstByteMs ?? Number.NaN,
    lastByteMs,
    extraMegabytes: (await megabytes("VmHWM")) - before,
  };
}

/** Resets the peak memory of this process that the system records. */
function forgetPeak(): Promise<void> {
  return writeFile("/proc/self/clear_refs", "5");
}

async function megabytes(name: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await readFile("/proc/self/status", "utf8");
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}
