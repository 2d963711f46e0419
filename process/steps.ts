// Shows the progress of a start on the terminal: a line for each step, once it is done.

/** Prints the name of a step and how many seconds it took. Parallel steps are printed as they end. */
export async function step<T>(done: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  process.stdout.write(`${seconds(performance.now() - start)}  ${done}\n`);
  return result;
}

/** How long this process has been running, for the last line. */
export function sinceStart(): string {
  return seconds(process.uptime() * 1_000).trim();
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1).padStart(5)} s`;
}
