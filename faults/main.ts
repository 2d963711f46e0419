// npm run faults [-- scenario …]: makes things go wrong, counts what is wrong afterwards, and prints a table.
import { parseArgs } from "node:util";
import { fusekiIsAvailable } from "../test/support/fuseki.ts";
import { startEmbedded } from "./embedded.ts";
import { createRandom } from "./random.ts";
import { report } from "./report.ts";
import type { Line } from "./report.ts";
import { SCENARIOS } from "./scenarios/index.ts";
import type { Start, StoreKind } from "./service.ts";
import { listsOf, putRight, totalOf } from "./trial.ts";
import type { Finding, Installation, Scenario } from "./trial.ts";
import { startWithFuseki } from "./with-fuseki.ts";

const INTERRUPTED = 130;
const SHORT = { seconds: 2, rounds: 4 };
const LONG = { seconds: 30, rounds: 24 };
const START: Record<StoreKind, Start> = { fuseki: startWithFuseki, embedded: startEmbedded };

const say = (line: string) => void process.stdout.write(`${line}\n`);

function usage(problem: string): never {
  process.stderr.write(
    `${problem}\nnpm run faults -- [scenario …] [--short] [--seed n] [--seconds n] [--rounds n] [--store fuseki|embedded]\n` +
      SCENARIOS.map(({ name, fault }) => `  ${name.padEnd(20)}${fault}\n`).join(""),
  );
  process.exit(2);
}

function options() {
  const read = () =>
    parseArgs({
      allowPositionals: true,
      options: {
        short: { type: "boolean", default: false },
        seed: { type: "string" },
        seconds: { type: "string" },
        rounds: { type: "string" },
        store: { type: "string" },
      },
    });
  let parsed: ReturnType<typeof read>;
  try {
    parsed = read();
  } catch (error) {
    return usage((error as Error).message);
  }
  const { values, positionals } = parsed;
  const number = (name: "seed" | "seconds" | "rounds", otherwise: number) => {
    const value = Number(values[name] ?? otherwise);
    return Number.isInteger(value) && value > 0 ? value : usage(`--${name}: a whole number above 0`);
  };
  const unknown = positionals.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown.length > 0) return usage(`No such scenario: ${unknown.join(", ")}`);
  if (values.store !== undefined && !(values.store in START)) return usage(`--store: fuseki or embedded`);
  const size = values.short ? SHORT : LONG;
  return {
    short: values.short,
    store: values.store as StoreKind | undefined,
    scenarios: SCENARIOS.filter(({ name }) => positionals.length === 0 || positionals.includes(name)),
    seed: number("seed", Date.now() % 1_000_000_000),
    seconds: number("seconds", size.seconds),
    rounds: number("rounds", size.rounds),
  };
}

/** Which scenario is tried on which store, in an order that needs few installations. */
function plan({
  scenarios,
  short,
  store,
}: ReturnType<typeof options>): { scenario: Scenario; store: StoreKind }[] {
  const all = scenarios.flatMap((scenario) => {
    const wanted = store ? scenario.stores.filter((each) => each === store) : scenario.stores;
    const possible = wanted.filter((each) => each !== "fuseki" || fusekiIsAvailable);
    if (possible.length === 0) say(`${scenario.name}: not tried, it needs ${scenario.stores.join(" or ")}`);
    return (short ? possible.slice(0, 1) : possible).map((each) => ({ scenario, store: each }));
  });
  return (Object.keys(START) as StoreKind[]).flatMap((kind) => all.filter((each) => each.store === kind));
}

const isRight = ({ lost, wrong, falselySynced, seconds, complaints }: Finding) =>
  lost + totalOf(wrong) + falselySynced + complaints.length === 0 && seconds !== undefined;

/**
 * Stops the service. A part that was killed and did not come back fails to stop, which
 * must not hide what was found.
 */
async function takeDown(parts: AsyncDisposableStack): Promise<void> {
  await parts.disposeAsync().catch((error: unknown) => say(`  taking the service down: ${String(error)}`));
}

async function main(): Promise<number> {
  const chosen = options();
  const { seed, seconds, rounds } = chosen;
  say(`seed ${seed}, ${seconds} s, ${rounds} rounds`);
  const lines: Line[] = [];
  let parts = new AsyncDisposableStack();
  let current: Installation | undefined;
  let right = true;
  const begun = Date.now();
  // The service's processes outlive this one unless they are told to end.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void takeDown(parts).finally(() => process.exit(INTERRUPTED)));
  }
  try {
    for (const { scenario, store } of plan(chosen)) {
      say(`\n${scenario.name} (${store}): ${scenario.fault}`);
      if (current?.service.store !== store || !right) {
        await takeDown(parts);
        parts = new AsyncDisposableStack();
        current = undefined;
      }
      right = true;
      try {
        if (!current) {
          const service = await START[store](parts);
          current = { service, lists: await listsOf(service) };
        }
        const random = createRandom(seed).fork(`${scenario.name} ${store}`);
        for await (const finding of scenario.run({ ...current, random, seconds, rounds })) {
          const line = { scenario: scenario.name, store, finding, right: isRight(finding) };
          lines.push(line);
          say(report([line]));
          if (line.right) continue;
          // What one fault leaves wrong must not be counted for the next.
          right = await putRight(current);
          if (!right) break;
        }
      } catch (error) {
        right = false;
        say(`  broke off: ${error instanceof Error ? error.stack : String(error)}`);
        lines.push({ scenario: scenario.name, store, finding: undefined, right: false });
      }
    }
  } finally {
    await takeDown(parts);
  }
  say(`\n${report(lines, "whole")}`);
  say(`\nseed ${seed}, ${((Date.now() - begun) / 1000).toFixed(0)} s in all`);
  return lines.every((line) => line.right) ? 0 : 1;
}

process.exit(await main());
