// npm run load [-- steady overload hostile] [--short]: puts the service under
// pressure and prints the results.
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { hostile, maximum, overload, steady } from "./phases.ts";
import type { Outcome, Size } from "./phases.ts";
import { startLoadedService } from "./service.ts";
import type { LoadedService } from "./service.ts";

const SHORT: Size = { warmUp: 5, steady: 20, overload: 10, attack: 4, rounds: 1 };
const LONG: Size = { warmUp: 20, steady: 600, overload: 60, attack: 10, rounds: 3 };
const INTERRUPTED = 130;

type Phase = (service: LoadedService, most: number, size: Size) => Promise<Outcome[]>;
const PHASES: Record<string, Phase> = {
  steady,
  overload,
  hostile: (service, _most, size) => hostile(service, size),
};

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { short: { type: "boolean", default: false } },
  });
  const unknown = positionals.filter((name) => !(name in PHASES));
  if (unknown.length > 0) {
    process.stderr.write(
      `No such phase: ${unknown.join(", ")}. Phases: ${Object.keys(PHASES).join(", ")}.\n`,
    );
    return 2;
  }
  const size = values.short ? SHORT : LONG;
  await using parts = new AsyncDisposableStack();
  // The service's processes outlive this one unless they are told to end.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void parts.disposeAsync().finally(() => process.exit(INTERRUPTED)));
  }
  say(`${cpus().length} × ${cpus()[0]?.model ?? "?"}, Node ${process.version}`);
  const service = await startLoadedService(parts);
  const rateNeeded = positionals.length === 0 || positionals.some((name) => name !== "hostile");
  const most = rateNeeded ? await maximum(service, size) : Number.NaN;
  say("\n| load | measured | aim |\n|---|---|---|");
  let kept = true;
  for (const [name, phase] of Object.entries(PHASES)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    for (const outcome of await phase(service, most, size)) {
      kept &&= outcome.kept;
      say(
        `| ${outcome.subject} | ${outcome.measured}${outcome.kept ? "" : ": **missed**"} | ${outcome.aim} |`,
      );
    }
  }
  return kept ? 0 : 1;
}

process.exit(await main());
