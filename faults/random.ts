// Everything that a run leaves to chance comes from one seed, so that what it found can be looked for again.

/** A source of chance. */
export type Random = {
  /** at least 0, below 1 */
  next: () => number;
  /** a whole number of those from `from` to `to` */
  between: (from: number, to: number) => number;
  pick: <T>(items: readonly T[]) => T;
  shuffle: <T>(items: readonly T[]) => T[];
  /** a source of its own, the same for the same name */
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
    // By the seed and not by the state: a scenario does the same alone as after others.
    fork: (name) => createRandom(Buffer.from(name).reduce((hash, byte) => Math.imul(hash, 31) + byte, seed)),
  };
}
