// All random choices of a run come from one seed, so that what it found can be reproduced.

/** A source of random numbers. */
export type Random = {
  /** at least 0, below 1 */
  next: () => number;
  /** a whole number from `from` to `to`, both included */
  between: (from: number, to: number) => number;
  pick: <T>(items: readonly T[]) => T;
  shuffle: <T>(items: readonly T[]) => T[];
  /** an independent source, the same for the same name */
  fork: (name: string) => Random;
};

/** The generator mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return {
    next,
    between,
    pick: (items) => items[between(0, items.length - 1)]!,
    shuffle: (items) => {
      const mixed = [...items];
      for (let last = mixed.length - 1; last > 0; last -= 1) {
        const other = between(0, last);
        [mixed[last], mixed[other]] = [mixed[other]!, mixed[last]!];
      }
      return mixed;
    },
    // From the seed, not the state, so that a scenario does the same alone as after others.
    fork: (name) => createRandom(Buffer.from(name).reduce((hash, byte) => Math.imul(hash, 31) + byte, seed)),
  };
}
