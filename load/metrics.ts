// Reads the metrics of the server.
import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../bench/support.ts";

const EVERY_MS = 1_000;

/** Resident memory in MB. */
export async function residentMemory(metricsUrl: string): Promise<number> {
  return (await told(metricsUrl, "process_resident_memory_bytes")) / 1e6;
}

/** Resolves once the store has ended all queries: Fuseki goes on when its caller has left. */
export async function queriesAreOver(metricsUrl: string): Promise<void> {
  while ((await told(metricsUrl, 'sparql_queries{state="running"}')) > 0) await sleep(EVERY_MS);
}

async function told(metricsUrl: string, series: string): Promise<number> {
  const lines = (await (await fetch(metricsUrl)).text()).split("\n");
  return Number(
    lines
      .find((line) => line.startsWith(`${series} `))!
      .split(" ")
      .at(-1),
  );
}

/**
 * Watches the memory until it is stopped; returns the medians of the first and the
 * last fifth, and the maximum.
 */
export function watchMemory(metricsUrl: string): () => { first: number; last: number; most: number } {
  const seen: number[] = [];
  const look = () =>
    void residentMemory(metricsUrl).then(
      (size) => seen.push(size),
      () => undefined,
    );
  const timer = setInterval(look, EVERY_MS);
  return () => {
    clearInterval(timer);
    const fifth = Math.max(1, Math.floor(seen.length / 5));
    return {
      first: median(seen.slice(0, fifth)),
      last: median(seen.slice(-fifth)),
      most: Math.max(...seen),
    };
  };
}
