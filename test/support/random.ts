// Where the chance of random tests comes from. DIFFERENTIAL_RUNS asks for more of them; a failure names its seed, which
// DIFFERENTIAL_SEED repeats.

const seed = process.env["DIFFERENTIAL_SEED"];
const runs = process.env["DIFFERENTIAL_RUNS"];

/**
 * How a property is tried.
 * @param usually how many times
 */
export function chance(usually: number): { numRuns: number; seed?: number } {
  return { numRuns: Number(runs ?? usually), ...(seed && { seed: Number(seed) }) };
}

/** The same again and again, so that a mistake that was found once is found again; and one more that nobody has tried. */
export const SEEDS: readonly number[] = seed
  ? [Number(seed)]
  : [1, 2, 3, Math.trunc(Math.random() * 2 ** 31)];
