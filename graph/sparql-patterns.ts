// Whether an engine comes to the end of a pattern of REGEX or REPLACE. Engines written in Java try every way
// in which a pattern can match a text, one after another, and check neither their time limit nor whether the
// caller still waits: a short pattern can keep a processor busy for years.

/**
 * The most unbounded quantifiers in a row: with k of them, a text of n characters is tried in about n^k ways.
 */
const MOST_OPEN = 3;
/** The most ways to match that do not depend on the text. */
const MOST_WAYS = 10_000;
/**
 * The most steps of a part with its repetitions: a part that matches the empty text can be
 * repeated without using up any text.
 */
const LONGEST_REPEATED = 10_000;
const DEEPEST = 50;
/** The calls for the beginning and the end of a group. */
const OF_GROUP = 2;
/** How many characters follow the letter of an escape. */
const DIGITS: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["u", 4],
  ["c", 1],
]);

/** In how many ways a part of a pattern can match at one position of a text. */
type Cost = {
  open: number;
  ways: number;
  /** how many steps a match takes without its unbounded quantifiers */
  length: number;
  /** the fewest characters of a match */
  least: number;
  /** the characters that every match begins with, as far as they are known, in lower case */
  start: string;
  /**
   * the depth of Java's calls at the end of a match, one level for each part, without unbounded repetitions
   */
  depth: number;
  /** and how much each character adds to it if a group is repeated without bound */
  depthOfEach: number;
};
type Quantifier = { least: number; most: number };

class Unbounded extends Error {}

/** A pattern that may be used. */
export type Plain = {
  /**
   * How many of its boundaries can be at every position of a text: the ends of its unbounded
   * quantifiers, and its beginning.
   */
  open: number;
  /** in how many ways the rest can match at one position */
  ways: number;
  /** the fewest characters that it matches */
  least: number;
  /** the depth of Java's calls; where groups are repeated, each character of a text adds depthOfEach */
  depth: number;
  depthOfEach: number;
};

/**
 * Reads a pattern.
 * @param isByLine whether ^ matches at the beginning of each line
 * @returns why it may not be used; or else the figures that show, with the length
 *   of a text, how long it takes
 */
export function readPattern(pattern: string, isByLine = false): { fault: string } | Plain {
  // Everywhere a backslash before any punctuation stands for that character, but JavaScript
  // accepts it only before some.
  const strict = pattern.replace(/\\([\s\S])/g, (escape, of: string) =>
    /[!"#%&',:;<=>@_`~ -]/.test(of) ? `\\x${of.charCodeAt(0).toString(16)}` : escape,
  );
  if (!isUnderstood(strict)) {
    const help = /^\(\?[a-z]+\)/.test(pattern) ? "; its flags are an argument of their own, behind it" : "";
    return { fault: `it is not understood, or by some engines only${help}` };
  }
  try {
    const { open, ways, least, isOne, depth, depthOfEach } = new Reader(strict).whole();
    // A pattern without alternatives that begins with ^ is tried at the beginning only, and a .* at the end
    // never has to be tried again.
    const begins = isOne && !isByLine && pattern.startsWith("^") ? 0 : 1;
    return {
      open: open + begins - (isOne && /(?:^|[^\\])\.\*\??$/.test(pattern) ? 1 : 0),
      ways,
      least,
      ...{ depth, depthOfEach },
    };
  } catch (error) {
    // REGEX finds the same without .* at the beginning, but with it Java tries the pattern from each
    // position: with three more behind it, 1,000 characters took 1.6 s instead of 0.03 s.
    const help = pattern.startsWith(".*")
      ? "; in REGEX .* means nothing at the beginning, so leave it out"
      : "";
    if (error instanceof Unbounded) return { fault: error.message + help };
    throw error;
  }
}

/** Whether JavaScript accepts a pattern: those that it accepts, all engines read alike or not at all. */
function isUnderstood(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").unicode;
  } catch {
    return false;
  }
}

/** Reads a pattern that is known to be well formed. */
class Reader {
  readonly #signs: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#signs = Array.from(pattern);
  }

  /** The cost of the whole pattern, and whether it has no alternatives outside of groups. */
  whole(): Plain & { isOne: boolean } {
    const costs = this.#sequences();
    return { ...eitherOf(costs), isOne: costs.length === 1 };
  }

  #sequences(): readonly Cost[] {
    const costs = [this.#sequence()];
    while (this.#signs[this.#at] === "|") {
      this.#at++;
      costs.push(this.#sequence());
    }
    return costs;
  }

  #sequence(): Cost {
    let all: Cost = { open: 0, ways: 1, length: 1, least: 0, start: "", depth: 0, depthOfEach: 0 };
    let isStart = true;
    while (this.#at < this.#signs.length && !"|)".includes(this.#signs[this.#at]!)) {
      const isGroup = this.#signs[this.#at] === "(";
      const atom = this.#atom();
      const quantifier = this.#quantifier();
      const { open, ways, length, least, start, depth, depthOfEach } = repeated(atom, quantifier, isGroup);
      all = bounded({
        ...{ open: all.open + open, ways: all.ways * ways, length: all.length + length },
        ...{ least: all.least + least, depth: all.depth + depth },
        // A character that one part has passed is not passed by another.
        depthOfEach: Math.max(all.depthOfEach, depthOfEach),
        start: isStart ? all.start + start : all.start,
      });
      isStart &&= !isGroup && !quantifier && start !== "";
    }
    return all;
  }

  #atom(): Cost {
    const sign = this.#signs[this.#at++]!;
    let isPlace = sign === "^" || sign === "$";
    if (sign === "(") return this.#group();
    if (sign === "[") {
      while (this.#signs[this.#at] !== "]") this.#at += this.#signs[this.#at] === "\\" ? 2 : 1;
      this.#at++;
    } else if (sign === "\\") isPlace = this.#escape();
    // Engines agree only for ASCII on which letters differ only in case.
    const isLiteral = /^[ -~]$/.test(sign) && !"[\\.^$".includes(sign);
    const least = isPlace ? 0 : 1;
    const start = isLiteral ? sign.toLowerCase() : "";
    return { open: 0, ways: 1, length: 1, least, start, depth: 1, depthOfEach: 0 };
  }

  #group(): Cost {
    if (this.#signs[this.#at] === "?") {
      if (this.#signs[this.#at + 1] !== ":") throw new Unbounded("of groups with (? it may have only (?:…)");
      this.#at += 2;
    }
    if (++this.#depth > DEEPEST) throw new Unbounded("its groups are nested too deeply");
    const inner = eitherOf(this.#sequences());
    this.#depth--;
    this.#at++;
    return { ...inner, depth: inner.depth + OF_GROUP };
  }

  /** Reads an escape. @returns whether it is a position between characters */
  #escape(): boolean {
    const of = this.#signs[this.#at++]!;
    if (/[1-9k]/.test(of)) throw new Unbounded("it refers to what a group has matched");
    if (!/[pPu]/.test(of) || this.#signs[this.#at] !== "{") {
      this.#at += DIGITS.get(of) ?? 0;
      return /[bB]/.test(of);
    }
    while (this.#signs[this.#at++] !== "}");
    return false;
  }

  #quantifier(): Quantifier | undefined {
    const quantifier = this.#count();
    if (quantifier && this.#signs[this.#at] === "?") this.#at++;
    return quantifier;
  }

  #count(): Quantifier | undefined {
    const sign = this.#signs[this.#at];
    if (sign === undefined || !"*+?{".includes(sign)) return undefined;
    this.#at++;
    if (sign !== "{") return { least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : Infinity };
    const end = this.#signs.indexOf("}", this.#at);
    const [least = "", most = least] = this.#signs.slice(this.#at, end).join("").split(",");
    this.#at = end + 1;
    return { least: Number(least), most: most === "" ? Infinity : Number(most) };
  }
}

function eitherOf(costs: readonly Cost[]): Cost {
  if (costs.length === 1) return costs[0]!;
  // If all alternatives begin differently, at most one goes on at any position. Sorted, two
  // that begin alike are neighbours.
  const starts = costs.map(({ start }) => start).toSorted();
  const isClear = starts.every((start, i) => start !== "" && !starts[i + 1]?.startsWith(start));
  const ways = costs.map((cost) => cost.ways);
  return bounded({
    open: Math.max(...costs.map(({ open }) => open)),
    length: Math.max(...costs.map(({ length }) => length)),
    least: Math.min(...costs.map(({ least }) => least)),
    ways: isClear ? Math.max(...ways) : ways.reduce((sum, each) => sum + each),
    start: "",
    depth: 1 + Math.max(...costs.map(({ depth }) => depth)),
    depthOfEach: Math.max(...costs.map(({ depthOfEach }) => depthOfEach)),
  });
}

function repeated(cost: Cost, quantifier: Quantifier | undefined, isGroup: boolean): Cost {
  if (!quantifier) return cost;
  const { least: times, most } = quantifier;
  const { depth, depthOfEach } = cost;
  const start = times > 0 ? cost.start : "";
  const least = cost.least * times;
  if (most < Infinity) {
    const length = cost.length * most;
    if (length > LONGEST_REPEATED) throw new Unbounded("it repeats something too often");
    const ways = cost.ways ** most * (most - times + 1);
    return bounded({
      ...{ open: cost.open * most, ways, length, least, start },
      ...{ depth: isGroup ? depth * most : depth, depthOfEach },
    });
  }
  if (cost.open > 0 || cost.ways > 1) {
    throw new Unbounded("it repeats without bound what matches a text in several ways");
  }
  // A group that can match nothing is passed at most once for each character.
  const each = isGroup ? depth / Math.max(1, cost.least) : 0;
  return {
    open: 1,
    ways: 1,
    length: cost.length,
    least,
    start,
    depth,
    depthOfEach: each,
  };
}

function bounded(cost: Cost): Cost {
  if (cost.open > MOST_OPEN)
    throw new Unbounded(`it has more than ${MOST_OPEN} unbounded quantifiers behind one another`);
  if (cost.ways > MOST_WAYS) throw new Unbounded("it matches a text in too many ways");
  return cost;
}
