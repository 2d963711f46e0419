// Whether an engine comes to the end of a property path. Fuseki follows a sequence pattern by pattern and
// checks its time limit between them, but it follows everything under |, ?, * or + in a single step,
// collecting results with duplicates in a list in memory: no time limit ends that.

/**
 * The assumed number of values that a node has for a property; only a property followed backwards may
 * lead to everything of a kind.
 */
const VALUES_OF_A_NODE = 10;
/** The assumed number of nodes that a node leads to over any number of steps. */
const REACHED_FROM_A_NODE = 500;
/** The most properties in one path, which engines read by recursion. */
const MOST_PROPERTIES = 500;
/** The most walks from one node, if every step were forward. */
const MOST_WALKS = 200_000;

type Node = Readonly<Record<string, unknown>>;
type Direction = "forth" | "back";
/**
 * A walk that a path allows. A turn, forth and then back, leads from a node to every node with the same
 * value, so each turn multiplies by the size of the graph.
 */
type Walk = { first: Direction; last: Direction; turns: number };
type Reach = {
  /** for each pair of ends, the walk with most turns */
  walks: readonly Walk[];
  /** how many walks there are from a node, without the turns */
  number: number;
  isRepeated: boolean;
};

/** A path that is not accepted. */
export class Endless extends Error {
  readonly path: object;

  constructor(path: object, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * @param path as the parser makes it, of no more than some thousand levels
 * @throws Endless with the part that an engine might never finish
 */
export function requireEnding(path: object): void {
  let properties = 0;
  const stack = [path as Node];
  for (let part = stack.pop(); part; part = stack.pop()) {
    if (part["type"] === "path") stack.push(...(part["items"] as readonly Node[]));
    else properties += 1;
  }
  if (properties > MOST_PROPERTIES) throw new Endless(path, `it has more than ${MOST_PROPERTIES} properties`);
  requireEachEnding(path);
}

function requireEachEnding(path: object): void {
  const { subType, items = [] } = path as Node;
  // Sequences and inverses are joined like separate patterns.
  if (subType === "/" || subType === "^") for (const item of items as object[]) requireEachEnding(item);
  else if (subType === "|" || subType === "?") requireFewWalks(path, reachOf(path as Node));
  else if (isRepetition(subType)) reachOf(path as Node);
}

const isRepetition = (subType: unknown) => subType === "*" || subType === "+";

function requireFewWalks(path: object, { walks, number }: Reach): void {
  // An engine may begin at either end.
  const isWide = ({ first, last, turns }: Walk) => turns + (first === "back" || last === "forth" ? 1 : 0) > 1;
  if (walks.some(isWide) || number > MOST_WALKS)
    throw new Endless(
      path,
      "under | or ? it reaches too much of the graph at once; write the alternatives as separate patterns, with UNION or OPTIONAL",
    );
}

function reachOf(path: Node): Reach {
  const { subType } = path;
  if (path["type"] !== "path") return link("forth");
  const items = path["items"] as readonly Node[];
  if (subType === "!") return items.map(reachOf).reduce(either);
  const reaches = items.map(reachOf);
  if (subType === "|") return reaches.reduce(either);
  if (subType === "/") return reaches.reduce(oneBehindTheOther);
  const [inner] = reaches as [Reach];
  if (subType === "^") return { ...inner, walks: inner.walks.map(turnedRound) };
  if (subType === "?") return { ...inner, number: inner.number + 1 };
  return repeated(path, inner);
}

function link(direction: Direction): Reach {
  const walks = [{ first: direction, last: direction, turns: 0 }];
  return { walks, number: VALUES_OF_A_NODE, isRepeated: false };
}

/** The reach of * or +: every node is visited once, from each node that leads to it. */
function repeated(path: object, { walks, number, isRepeated }: Reach): Reach {
  if (isRepeated)
    throw new Endless(
      path,
      "it repeats without bound what is repeated without bound already; leave out the inner * or +: (a*)* is a*, and (a*/b*)* is (a|b)*",
    );
  if (walks.some(({ turns }) => turns > 0))
    throw new Endless(
      path,
      "it repeats a step forward and then back, which leads from anything to everything that has the same value; write (a|^b)* in place of (a/^b)*, and say of what kind the ends are",
    );
  if (number > MOST_WALKS)
    throw new Endless(path, "it repeats too long a sequence, or too many alternatives");
  const isMixed = walks.length > 1 || walks[0]!.first !== walks[0]!.last;
  return {
    // With steps in both directions, all of the graph can be reached.
    walks: isMixed ? [{ first: "forth", last: "back", turns: 1 }] : walks,
    number: REACHED_FROM_A_NODE,
    isRepeated: true,
  };
}

function either(one: Reach, other: Reach): Reach {
  return {
    walks: widest([...one.walks, ...other.walks]),
    number: one.number + other.number,
    isRepeated: one.isRepeated || other.isRepeated,
  };
}

/** The reach of a sequence. Leaving out an optional part never makes a walk wider. */
function oneBehindTheOther(one: Reach, other: Reach): Reach {
  const joined = one.walks.flatMap((walk) => other.walks.map((next) => join(walk, next)));
  return {
    walks: widest(joined),
    number: one.number * other.number,
    isRepeated: one.isRepeated || other.isRepeated,
  };
}

function join(walk: Walk, next: Walk): Walk {
  const turn = walk.last === "forth" && next.first === "back" ? 1 : 0;
  return { first: walk.first, last: next.last, turns: walk.turns + turn + next.turns };
}

function turnedRound({ first, last, turns }: Walk): Walk {
  const other = (direction: Direction) => (direction === "forth" ? "back" : "forth");
  return { first: other(last), last: other(first), turns };
}

function widest(walks: readonly Walk[]): readonly Walk[] {
  const byEnds = new Map<string, Walk>();
  for (const walk of walks) {
    const ends = `${walk.first} ${walk.last}`;
    if (walk.turns >= (byEnds.get(ends)?.turns ?? 0)) byEnds.set(ends, walk);
  }
  return [...byEnds.values()];
}
