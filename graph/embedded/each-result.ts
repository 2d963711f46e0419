// Passes on results one at a time, from an engine that returns them all at once.
import * as oxigraph from "oxigraph";

/** A solution: the variables that are bound. */
export type Solution = Map<string, oxigraph.Term>;

export const isSolution = (value: unknown): value is Solution => value instanceof Map;
export const isQuad = (value: unknown): value is oxigraph.Quad => value instanceof oxigraph.Quad;

/**
 * Memory that the engine allocates for a result outside the JavaScript heap; it is not freed
 * automatically while a query is running.
 */
interface Allocated {
  free(): void;
}

/**
 * Runs a query and passes on each result as it is found, instead of collecting them: a million solutions
 * would take 700 MB. The engine's own loop appends each result to an array by `push`, so `push` is replaced
 * while it runs. If a future engine fills its array in another way, the array is read instead, which costs
 * memory but changes no answer.
 * @param run a call of `store.query` without `results_format`
 * @param isResult tells a result from other values that are appended to an array meanwhile
 */
export function eachResult<Result>(
  run: () => unknown,
  isResult: (value: unknown) => value is Result,
  take: (result: Result) => void,
): void {
  // oxlint-disable-next-line typescript/unbound-method -- it is put back as it was
  const { push } = Array.prototype;
  let results: unknown;
  // oxlint-disable-next-line no-extend-native -- see above; this thread runs nothing else meanwhile
  Array.prototype.push = function (this: unknown[], ...values: unknown[]): number {
    if (!isResult(values[0])) return push.apply(this, values);
    take(values[0]);
    return this.length;
  };
  try {
    results = run();
  } finally {
    // oxlint-disable-next-line no-extend-native -- see above
    Array.prototype.push = push;
  }
  if (Array.isArray(results)) for (const result of results) if (isResult(result)) take(result);
}

/** Frees the engine's memory for a term, a quad or a store, which must not be used afterwards. */
export function release(value: oxigraph.Term | oxigraph.Quad | oxigraph.Store): void {
  (value as unknown as Allocated).free();
}
