// Results one at a time, from an engine that gives them all at once.
import * as oxigraph from "oxigraph";

/** A solution: the variables that are bound. */
export type Solution = Map<string, oxigraph.Term>;

export const isSolution = (value: unknown): value is Solution => value instanceof Map;
export const isQuad = (value: unknown): value is oxigraph.Quad => value instanceof oxigraph.Quad;

/** What the engine allocates for a result outside the JavaScript heap; nobody frees it while a query is running. */
interface Allocated {
  free(): void;
}

/**
 * Runs a query and hands over each result as it is found, instead of an array of them all: a million solutions would be
 * 700 MB of them. The engine's own loop appends each to an array by `push`, which is stood in for while it runs. An
 * engine that should come to do it another way is asked for its array, which costs memory and changes no answer.
 * @param run a call of `store.query` without `results_format`
 * @param isResult tells a result from what else may be appended to an array meanwhile
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

/** Gives back what the engine holds for a term, a quad or a store. It must not be used afterwards. */
export function release(value: oxigraph.Term | oxigraph.Quad | oxigraph.Store): void {
  (value as unknown as Allocated).free();
}
