// npm run schemathesis [-- --short] [-- --seed 7]: starts the service with its demo data, sends it the
// requests that Schemathesis generates from the descriptions of REST and GraphQL, well-formed and not, and
// has each answer checked against them.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { DEMO_KEY } from "../db/demo/load.ts";
import { freePort, launch, ROOT } from "../test/support/process.ts";

const HERE = import.meta.dirname;
const REQUIREMENTS = join(HERE, "requirements.txt");

/** How many requests are generated for each operation, besides those that follow from its description. */
type Size = { rest: number; graphql: number; phases: string };
const SHORT: Size = { rest: 5, graphql: 5, phases: "coverage,fuzzing" };
const LONG: Size = { rest: 100, graphql: 100, phases: "examples,coverage,fuzzing,stateful" };
/**
 * The short form always sends the same requests for the same source, so that a change is not blamed for a
 * fault that was there before; those are looked for in the long form.
 */
const SHORT_SEED = "1";
/** EX_UNAVAILABLE in sysexits.h: something that is needed cannot be installed. */
const UNAVAILABLE = 69;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { short: { type: "boolean", default: false }, seed: { type: "string" } },
  });
  const size = values.short ? SHORT : LONG;
  const seed = values.seed ?? (values.short ? SHORT_SEED : undefined);
  await using parts = new AsyncDisposableStack();
  const schemathesis = await install();
  if (schemathesis === undefined) return UNAVAILABLE;
  const url = await startDemo(parts);
  const ask = (what: "rest" | "graphql", location: string) =>
    shown(schemathesis, [
      ...["--config-file", join(HERE, `${what}.toml`), "run", `${url}${location}`],
      ...["--header", `Authorization: Bearer ${DEMO_KEY}`, "--continue-on-failure"],
      ...["--phases", size.phases, "--max-examples", String(size[what])],
      ...(seed === undefined ? [] : ["--seed", seed]),
    ]);
  const codes = [await ask("rest", "/v0/openapi.json"), await ask("graphql", "/graphql")];
  return Math.max(...codes);
}

/**
 * Installs Schemathesis in exactly the versions of the list, and keeps it for the next time.
 * @returns its path; undefined if it cannot be installed, after saying why
 */
async function install(): Promise<string | undefined> {
  const versions = createHash("sha256")
    .update(await readFile(REQUIREMENTS))
    .digest("hex")
    .slice(0, 16);
  const folder = join(ROOT, "node_modules/.cache", `schemathesis-${versions}`);
  const program = join(folder, "bin/schemathesis");
  if ((await shown(program, ["--version"]).catch(() => 1)) === 0) return program;
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  const steps: [string, string[]][] = [
    ["python3", ["-m", "venv", "--clear", folder]],
    [join(folder, "bin/python"), [...pip, "--require-hashes", "--only-binary", ":all:", "-r", REQUIREMENTS]],
  ];
  for (const [command, args] of steps) {
    if ((await shown(command, args)) === 0) continue;
    process.stderr.write(`Schemathesis cannot be installed: ${command} ${args.join(" ")} failed.\n`);
    return undefined;
  }
  return program;
}

async function startDemo(parts: AsyncDisposableStack): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-schemathesis-"));
  parts.defer(() => rm(dir, { recursive: true, force: true }));
  const port = String(await freePort());
  const service = launch(process.execPath, ["start.ts"], {
    ...{ DATA_DIR: dir, PORT: port, LOG_LEVEL: "warn" },
    ...{ RATE_LIMIT_PER_MINUTE: "1000000", UNKNOWN_KEYS_PER_MINUTE: "1000000" },
  });
  parts.defer(async () => void (await service.end("SIGTERM")));
  await service.prints("Ready after");
  return `http://127.0.0.1:${port}`;
}

/** Runs a program, and shows what it prints. */
async function shown(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(command, args, { cwd: HERE, stdio: ["ignore", "inherit", "inherit"] });
  const [code] = (await once(child, "close")) as [number | null];
  return code ?? 1;
}

process.exit(await main());
