// What one caller with an ordinary key can try in order to monopolize the service.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

/** Sends requests, one after another or many at once, until it is aborted. */
export type Attack = {
  name: string;
  /** how many at once */
  width: number;
  /** One request; its answer is read to its end unless the caller hangs up. */
  send: (url: string, key: string, signal: AbortSignal) => Promise<Response>;
  /** The caller hangs up after this long. */
  hangUpMs?: number;
};

const json = { "content-type": "application/json" };
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

const graphql =
  (query: string): Attack["send"] =>
  (url, key, signal) =>
    fetch(`${url}/graphql`, {
      method: "POST",
      headers: { ...bearer(key), ...json },
      body: JSON.stringify({ query }),
      signal,
    });
const sparql =
  (query: string): Attack["send"] =>
  (url, key, signal) =>
    fetch(`${url}/v0/sparql`, {
      method: "POST",
      headers: { ...bearer(key), "content-type": "application/sparql-query", accept: "text/csv" },
      body: query,
      signal,
    });
const get =
  (path: string): Attack["send"] =>
  (url, key, signal) =>
    fetch(`${url}${path}`, { headers: bearer(key), signal });

const times = (n: number, text: (i: number) => string) =>
  Array.from({ length: n }, (_, i) => text(i)).join(" ");
const INTROSPECTION =
  "__schema { types { name description fields { name description type { name ofType { name } } args { name type { name } } } } }";
const groups = (i: number) =>
  `a${i}: needs { groupedAggregates(groupBy: [ORG_NAME, STATUS, CREATED_AT_TRUNCATED_TO_DAY, ACCELERATORS, CONCERNS_COUNTRY_CODE]) { keys } }`;
// As many as the service accepts.
const DOUBLINGS = times(10, (i) => `BIND(CONCAT(?v${i}, ?v${i}) AS ?v${i + 1})`);
const SQUARES = times(5, (i) => `BIND(?v${i} * ?v${i} AS ?v${i + 1})`);

export const ATTACKS: readonly Attack[] = [
  {
    name: "100 searches of 10,000 churches, hanging up",
    width: 100,
    hangUpMs: 600,
    send: get("/v0/orgs/search?q=church&limit=10000"),
  },
  { name: "100 searches of 10,000 churches", width: 100, send: get("/v0/orgs/search?limit=10000") },
  {
    name: "20 slow root fields in a GraphQL request",
    width: 4,
    send: graphql(
      `{ ${times(20, (i) => `a${i}: churches(q: "grace community fellowship ${i}", limit: 200) { church { name } }`)} }`,
    ),
  },
  {
    name: "20 introspections in a GraphQL request",
    width: 4,
    send: graphql(`{ ${times(20, (i) => `a${i}: ${INTROSPECTION}`)} }`),
  },
  { name: "groups by five columns, 20 times", width: 4, send: graphql(`{ ${times(20, groups)} }`) },
  { name: "groups by five columns", width: 4, send: graphql(`{ ${groups(0)} }`) },
  {
    name: "MCP batches of ten searches of 10,000",
    width: 6,
    send: (url, key, signal) =>
      fetch(`${url}/v0/mcp`, {
        method: "POST",
        headers: { ...bearer(key), ...json },
        body: JSON.stringify(
          Array.from({ length: 10 }, (_, id) => ({
            jsonrpc: "2.0",
            id,
            method: "tools/call",
            params: { name: "churches_search_v1", arguments: { queryParams: { limit: 10_000 } } },
          })),
        ),
        signal,
      }),
  },
  {
    name: "SPARQL cross products",
    width: 8,
    send: sparql("select (count(*) as ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"),
  },
  {
    name: "SPARQL cross products, sorted",
    width: 8,
    send: sparql("select ?a { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } order by ?c ?f ?i limit 1000000000"),
  },
  {
    name: "SPARQL cross products, grouped",
    width: 8,
    send: sparql("select ?a ?d ?g (count(*) as ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } group by ?a ?d ?g"),
  },
  {
    name: "SPARQL with 10 doublings of everything",
    width: 4,
    send: sparql(`select (strlen(?v10) as ?n) { ?s ?p ?o bind(str(?o) as ?v0) ${DOUBLINGS} }`),
  },
  {
    name: "SPARQL that squares a number 5 times, hanging up",
    width: 8,
    hangUpMs: 600,
    send: sparql(`select (?v5 as ?n) { bind(${"9".repeat(90)} as ?v0) ${SQUARES} }`),
  },
  {
    name: "SPARQL with three quantifiers over a million characters, hanging up",
    width: 8,
    hangUpMs: 600,
    send: sparql(`ask { bind("${"x".repeat(1_000)}" as ?v0) ${DOUBLINGS} filter(regex(?v10, "x*x*x*y$")) }`),
  },
  {
    name: "SPARQL with patterns that are tried without end",
    width: 8,
    send: sparql(`ask { filter(regex("${"a".repeat(44)}!", "^(a+)+\\\\1$")) }`),
  },
  {
    name: "SPARQL with repetitions of repetitions",
    width: 8,
    send: sparql("ask { ?a (((!<x:a>|^!<x:a>)*)*)* <x:none> }"),
  },
  {
    name: "SPARQL that has the store sleep",
    width: 8,
    send: sparql("ask { filter(<http://jena.apache.org/ARQ/function#wait>(2000000000)) }"),
  },
  {
    name: "unknown keys",
    width: 50,
    send: (url, _key, signal) =>
      fetch(`${url}/v0/needs`, { headers: bearer(`ek_${crypto.randomUUID()}`), signal }),
  },
];

type Target = { name: string; url: string; key: string };

/** How many of its requests ended in which status, or in "nothing" if it hung up or was cut off. */
export type Became = Readonly<Record<string, number>>;

/**
 * Attacks until it is told to end, in a process of its own, so that reading the attacker's answers does not
 * slow down the measurements in this one. Whatever the service answers is fine here.
 * @param key a key that has not been used before, or its rate limit would refuse most of the attack
 * @returns a function that ends it
 */
export async function attack({ name }: Attack, url: string, key: string): Promise<() => Promise<Became>> {
  // A real attacker has a machine of its own. Here the attacker works only when the service leaves a
  // processor free. This holds for all of its threads, which have the priority that the process begins with.
  const attacker = fork(import.meta.filename, [], {
    execPath: "nice",
    execArgv: ["-n", "19", process.execPath],
  });
  attacker.send({ name, url, key } satisfies Target);
  await once(attacker, "message");
  return async () => {
    attacker.send("end");
    const [became] = (await once(attacker, "message")) as [Became];
    await once(attacker, "exit");
    return became;
  };
}

async function attackUntilTold({ name, url, key }: Target, end: AbortSignal): Promise<Became> {
  const { width, send, hangUpMs } = ATTACKS.find((each) => each.name === name)!;
  const became: Record<string, number> = {};
  const count = (what: string) => (became[what] = (became[what] ?? 0) + 1);
  const one = async () => {
    while (!end.aborted) {
      const signals = hangUpMs === undefined ? [end] : [end, AbortSignal.timeout(hangUpMs)];
      try {
        const answer = await send(url, key, AbortSignal.any(signals));
        await answer.arrayBuffer();
        count(String(answer.status));
      } catch {
        count("nothing");
        // Refused, cut off or hung up: it goes on, but not in a busy loop.
        await sleep(1);
      }
    }
  };
  await Promise.all(Array.from({ length: width }, one));
  return became;
}

if (import.meta.main) {
  const [target] = (await once(process, "message")) as [Target];
  const end = new AbortController();
  process.once("message", () => end.abort());
  process.once("disconnect", () => end.abort());
  process.send!("begun");
  const became = await attackUntilTold(target, end.signal);
  if (process.connected) process.send!(became, () => process.disconnect());
}
