// How much memory the server holds, as it says itself.
import { median } from "../bench/support.ts";

const EVERY_MS = 1_000;

/** Resident memory in MB. */
export async function residentMemory(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  const bytes = /^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1];
  return Number(bytes) / 1e6;
}

/** Watches the memory until it is stopped; the answer is the median of the first and of the last fifth, and the most. */
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
