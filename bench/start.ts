// What a newcomer waits for and needs room for: npm start, the memory that it holds, and
// the size of an installation.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { median, round, timed, type Figure } from "./support.ts";

const ROOT = join(import.meta.dirname, "..");
const AGAIN = 3;
/** After this long, everything that a start puts off has been done. */
const IDLE_MS = 10_000;
const TICK_MS = 10;
const MB = 1024 * 1024;

/** Only on Linux, where /proc shows what processes have used. */
export async function benchStart(): Promise<Figure[]> {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-bench-start-"));
  try {
    const first = await start(dir);
    const again: Started[] = [];
    for (let run = 0; run < AGAIN; run++) again.push(await start(dir));
    const of = (name: keyof Started) => median(again.map((run) => run[name]));
    return [
      { subject: "`npm start` to ready, the first time", measured: took(first), aim: "≤ 5 s" },
      {
        subject: "The same again",
        measured: took({ ms: of("ms"), cpuMs: of("cpuMs") }),
        aim: "≤ 2.5 s",
      },
      {
        subject: "Memory of it, idle: all processes, shared pages counted once",
        measured: `${round((of("nodeBytes") + of("otherBytes")) / MB)} MB (Node ${round(of("nodeBytes") / MB)}, PostgreSQL ${round(of("otherBytes") / MB)})`,
        aim: "≤ 300 MB",
      },
      {
        subject: "node_modules as installed",
        measured: `${round((await diskUse(join(ROOT, "node_modules"))) / MB)} MB`,
        aim: "≤ 450 MB",
      },
    ];
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

type Started = { ms: number; cpuMs: number; nodeBytes: number; otherBytes: number };

function took({ ms, cpuMs }: Pick<Started, "ms" | "cpuMs">): string {
  return `${round(ms / 1_000)} s, ${round(cpuMs / 1_000)} s of processor time`;
}

async function start(dir: string): Promise<Started> {
  const child = spawn(process.execPath, ["start.ts"], {
    cwd: ROOT,
    // With its own folder for Node's compile cache, the first start is like the
    // first one after an installation.
    env: {
      ...process.env,
      PORT: "0",
      DATA_DIR: join(dir, "data"),
      NODE_COMPILE_CACHE: join(dir, "compiled"),
    },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ms = await timed(async () => {
    let told = "";
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
      told += String(chunk);
      if (told.includes("Ready after")) return;
    }
    throw new Error(`npm start ended: ${told}`);
  });
  child.stdout.resume();
  const ids = await processesOf(child.pid!, dir);
  const cpuMs = sum(await Promise.all(ids.map(cpuTime)));
  await sleep(IDLE_MS);
  const others = (await processesOf(child.pid!, dir)).filter((id) => id !== child.pid);
  const nodeBytes = await memory(child.pid!);
  const otherBytes = sum(await Promise.all(others.map(memory)));
  child.kill("SIGINT");
  await once(child, "exit");
  return { ms, cpuMs, nodeBytes, otherBytes };
}

/**
 * The processes of the service and of PostgreSQL, which is not its child: the directory is in the
 * postmaster's command line, and its processes have it as parent.
 */
async function processesOf(service: number, dir: string): Promise<number[]> {
  const ids = (await readdir("/proc")).map(Number).filter((id) => id > 0 && id !== process.pid);
  const all = await Promise.all(
    ids.map(async (id) => ({
      id,
      parent: Number((await statOf(id))[1]),
      command: await readFile(`/proc/${id}/cmdline`, "utf8").catch(() => ""),
    })),
  );
  const named = all.filter(({ id, command }) => id === service || command.includes(dir)).map(({ id }) => id);
  const children = all.filter(({ parent }) => named.includes(parent)).map(({ id }) => id);
  return [...new Set([...named, ...children])];
}

/** What /proc shows of a process after its name, which may contain anything. */
async function statOf(id: number): Promise<string[]> {
  const text = await readFile(`/proc/${id}/stat`, "utf8").catch(() => "");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** The processor time of a process and of its children that have ended. */
async function cpuTime(id: number): Promise<number> {
  return sum((await statOf(id)).slice(11, 15).map(Number)) * TICK_MS;
}

async function memory(id: number): Promise<number> {
  const text = await readFile(`/proc/${id}/smaps_rollup`, "utf8").catch(() => "");
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1024;
}

/** As du counts: blocks, and a file with several names once. */
async function diskUse(dir: string, seen = new Set<number>()): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) bytes += await diskUse(path, seen);
    else if (entry.isFile()) {
      const { ino, blocks } = await stat(path);
      if (!seen.has(ino)) bytes += blocks * 512;
      seen.add(ino);
    }
  }
  return bytes;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
