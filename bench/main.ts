// npm run bench [part …] [-- --rows <number>]: measures side by side and prints the
// tables of docs/benchmarks.md.
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import type { Figure } from "./support.ts";

const { positionals: asked, values } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: "string" } },
});
/** How many records `scale` and `graph-scale` fill at most. */
const rows = values.rows === undefined ? undefined : Number(values.rows);
if (rows !== undefined && !(rows >= 300)) {
  process.stderr.write("--rows takes a number of records, 300 or more.\n");
  process.exit(2);
}

const PARTS: Record<string, () => Promise<Figure[]>> = {
  start: async () => (await import("./start.ts")).benchStart(),
  rest: async () => (await import("./rest.ts")).benchRest(),
  graphql: async () => (await import("./graphql.ts")).benchGraphql(),
  limits: async () => (await import("./limits.ts")).benchLimits(),
  pages: async () => (await import("./pages.ts")).benchPages(),
  delivery: async () => (await import("./delivery.ts")).benchDelivery(),
  projection: async () => (await import("./projection.ts")).benchProjection(),
  graph: async () => (await import("./graph.ts")).benchGraph(),
  "graph-scale": async () => (await import("./graph-scale.ts")).benchGraphScale(rows),
  commitments: async () => (await import("./commitments.ts")).benchCommitments(),
  answers: async () => (await import("./answers.ts")).benchAnswers(),
  churches: async () => (await import("./churches.ts")).benchChurches(),
  replica: async () => (await import("./replica.ts")).benchReplica(),
  scale: async () => (await import("./scale.ts")).benchScale(rows),
};

const unknown = asked.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  process.stderr.write(`No such part: ${unknown.join(", ")}. Parts: ${Object.keys(PARTS).join(", ")}.\n`);
  process.exit(2);
}
process.stdout.write(`${cpus().length} × ${cpus()[0]?.model ?? "?"}, Node ${process.version}\n`);
for (const [name, part] of Object.entries(PARTS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  process.stdout.write(`\n| ${name} | measured | aim |\n|---|---|---|\n`);
  for (const { subject, measured, aim } of await part()) {
    process.stdout.write(`| ${subject} | ${measured} | ${aim ?? "–"} |\n`);
  }
}
process.exit(0);
