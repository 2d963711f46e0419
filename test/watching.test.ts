// The dashboard and the alerts, compared with what server and worker tell of themselves.
import { readFile } from "node:fs/promises";
import { globSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { pino } from "pino";
import { parse } from "yaml";
import { loadConfig } from "../config.ts";
import { Metrics } from "../process/metrics.ts";
import { ERRORS } from "../server/errors.ts";
import { startServer } from "../server/main.ts";
import type { RunningServer } from "../server/main.ts";
import { startWorker } from "../worker/main.ts";
import type { Worker } from "../worker/main.ts";
import { eventually } from "./support/eventually.ts";
import { ROOT } from "./support/process.ts";
import { selectedBy } from "./support/promql.ts";
import type { Selected } from "./support/promql.ts";
import { call, startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

const logger = pino({ level: "silent" });
const config = { ...loadConfig({ PORT: "0", GRAPH_VERIFY_SHARE: "0" }), metricsPort: 0 };
const read = (path: string) => readFile(join(ROOT, path), "utf8");

type Panel = {
  id: number;
  type: string;
  title: string;
  datasource?: { type: string; uid: string };
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { refId: string; expr: string; legendFormat: string }[];
  fieldConfig?: { defaults: { unit: string } };
};
type Dashboard = {
  panels: Panel[];
  templating: { list: { name: string; type: string; query: string }[] };
};
type Rule = { alert: string; expr: string; annotations: { summary: string; runbook: string } };

/** What there is to ask for, by name: what kind it is, and the values of its labels that were seen. */
type Told = Map<
  string,
  { type: string; own: string; labels: readonly string[]; seen: Map<string, string[]> }
>;

let service: TestService;
let server: RunningServer;
let worker: Worker;
let told: Told;
let dashboard: Dashboard;
let rules: Rule[];
beforeAll(async () => {
  service = await startTestService();
  const metrics = new Metrics();
  const { store, database } = service;
  worker = await startWorker({
    config: { ...config, databaseUrl: database.url },
    databaseUrl: database.url,
    store,
    logger,
    metrics,
  });
  server = await startServer({
    ...{ config, databaseUrl: database.serverUrl, store, logger, metrics },
    graphql: "on demand",
  });
  dashboard = JSON.parse(await read("deploy/grafana/engagement-graph.json")) as Dashboard;
  const { groups } = parse(await read("deploy/prometheus/alerts.yml")) as { groups: { rules: Rule[] }[] };
  rules = groups.flatMap((group) => group.rules);
  await call(`${server.url}/v0/sparql`, "POST", service.keys.read, "ask {}", {
    "content-type": "application/sparql-query",
  });
  await service.database.owner.query("select graphile_worker.add_job('fold_record_totals')");
  await eventually(async () => {
    told = await whatIsTold(metrics);
    expect(told.get("job_duration_seconds_count")!.seen.get("task")).toContain("fold_record_totals");
    expect(told.get("http_request_duration_seconds_count")!.seen.get("route")).toContain("/v0/sparql");
    // Left out where the database takes longer than a scrape waits.
    expect(told.get("graph_state")!.seen.get("state")).toContain("current");
  });
});
afterAll(async () => {
  await worker.stop();
  await server.stop();
  await service.stop();
});

async function whatIsTold(metrics: Metrics): Promise<Told> {
  const text = await (await fetch(`http://127.0.0.1:${server.metricsPort}/metrics`)).text();
  const found: Told = new Map([["up", { type: "gauge", own: "up", labels: ["job"], seen: new Map() }]]);
  for (const metric of metrics.registry.getMetricsAsArray()) {
    const { name: own, labelNames = [] } = metric as typeof metric & { labelNames?: string[] };
    const type = new RegExp(`^# TYPE ${own} (\\w+)$`, "m").exec(text)![1]!;
    for (const end of type === "histogram" ? ["_bucket", "_sum", "_count"] : [""]) {
      const name = own + end;
      const seen = new Map<string, string[]>();
      for (const [, pairs] of text.matchAll(new RegExp(`^${name}\\{(.*)\\} `, "gm")))
        for (const [, label, value] of pairs!.matchAll(/(\w+)="([^"]*)"/g))
          seen.set(label!, [...(seen.get(label!) ?? []), value!]);
      const labels = [...labelNames, ...(end === "_bucket" ? ["le"] : [])];
      found.set(name, { type: type === "histogram" ? "counter" : type, own, labels, seen });
    }
  }
  // What callers can be told is more than what they were told here; what scrapes are called is the operator's to say.
  const statuses = Object.values(ERRORS).map(([status]) => String(status));
  found.get("http_errors_total")!.seen.set("status", statuses);
  found.get("up")!.seen.set("job", ["engagement-server", "engagement-worker"]);
  return found;
}

const expressions = () => [
  ...rules.map(({ alert, expr }) => ({ at: alert, expr })),
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ at: title, expr }))),
];
const selected = () =>
  expressions().flatMap(({ at, expr }) => selectedBy(expr).map((each) => ({ at, ...each })));
const ofItsOwn = (name: string) => !/^(process|nodejs)_/.test(name);

test("panels and alerts ask for metrics that there are, by labels that they have and values that occur", () => {
  expect(selected().length).toBeGreaterThan(40);
  const wrong = selected().flatMap(({ at, metric, matchers, by = [] }) => {
    const there = told.get(metric);
    if (!there) return [`${at}: no metric ${metric}`];
    const known = [...there.labels, "instance", "job"];
    const labels = [...matchers.map(({ label }) => label), ...by].filter((label) => !known.includes(label));
    const values = matchers.flatMap(({ label, operator, value }) =>
      (operator.includes("~") ? value.split("|") : [value]).filter(
        (each) =>
          !there.seen
            .get(label)
            ?.some((seen) =>
              operator.includes("~") ? new RegExp(`^(?:${each})$`).test(seen) : seen === each,
            ),
      ),
    );
    return [...labels, ...values].map((each) => `${at}: ${metric} has no ${each}`);
  });
  expect(wrong).toEqual([]);
});

test("what only grows is asked for by its rate, and what goes up and down as it is", () => {
  const wrong = selected().filter(({ metric, calls }) => {
    const isRate = calls[0] === "rate";
    return told.get(metric)!.type === "counter" ? !isRate : isRate;
  });
  expect(wrong).toEqual([]);
});

test("what every process tells of the database alike is not added up, and what each tells of itself is", () => {
  const SHARED = /^(graph|jobs|mails)_/;
  const wrong = selected().filter(({ metric, calls }) => {
    if (SHARED.test(metric)) return !calls.includes("max");
    return calls.some((each) => ["max", "avg"].includes(each));
  });
  expect(wrong).toEqual([]);
});

/** The one that a quantile is made of, or undefined. */
const quantileOf = (expr: string) => /^histogram_quantile\((0\.\d+), /.exec(expr)?.[1];
const named = (quantile: string) => `p${Number(quantile) * 100}`;

test("a quantile is one of a histogram by its bounds, and is called what it is", () => {
  const asked = expressions().flatMap(({ expr }) => (quantileOf(expr) ? selectedBy(expr) : []));
  expect(asked.length).toBeGreaterThan(4);
  for (const { metric, by, calls } of asked)
    expect([metric, calls, by]).toEqual([
      expect.stringMatching(/_bucket$/),
      ["rate", "sum", "histogram_quantile"],
      expect.arrayContaining(["le"]),
    ]);
  const buckets = selected().filter(({ metric }) => metric.endsWith("_bucket"));
  expect(buckets).toHaveLength(asked.length);
  for (const { title, targets = [] } of dashboard.panels)
    for (const { expr, legendFormat } of targets) {
      const said = quantileOf(expr) ? named(quantileOf(expr)!) : /_(p\d+)_/.exec(expr)?.[1];
      const isSaid = [title.split(", ").at(-1), legendFormat].includes(said);
      expect([title, expr, isSaid]).toEqual([title, expr, said !== undefined]);
    }
  for (const { alert, expr, annotations } of rules.filter((rule) => quantileOf(rule.expr)))
    expect([alert, quantileOf(expr), annotations.summary]).toEqual([
      ...[alert, "0.99", expect.stringMatching(/one .*in a hundred/i)],
    ]);
});

test("the lines of a panel can be told apart, by the labels that are left", () => {
  for (const { title, targets = [] } of dashboard.panels) {
    expect([title, new Set(targets.map(({ legendFormat }) => legendFormat)).size]).toEqual([
      ...[title, targets.length],
    ]);
    expect(targets.map(({ refId }) => refId)).toEqual(["A", "B", "C"].slice(0, targets.length));
    for (const { expr, legendFormat } of targets) {
      const [{ by = ["instance"] }] = selectedBy(expr) as [Selected];
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
      expect([title, shown.toSorted()]).toEqual([title, by.filter((label) => label !== "le").toSorted()]);
    }
  }
});

/** What an expression's numbers are, as Grafana calls it. */
function unitOf(expr: string): string {
  const [{ metric, calls }] = selectedBy(expr) as [Selected];
  const { own } = told.get(metric)!;
  if (calls.includes("rate") && !quantileOf(expr)) {
    return own.startsWith("job_") ? "ops" : "reqps";
  }
  return own.endsWith("_seconds") ? "s" : own.endsWith("_bytes") ? "bytes" : "short";
}

test("a panel shows numbers of one unit, and names it", () => {
  for (const { title, targets, fieldConfig } of dashboard.panels)
    for (const { expr } of targets ?? [])
      expect([title, expr, fieldConfig!.defaults.unit]).toEqual([title, expr, unitOf(expr)]);
});

test("everything that the service counts itself is on the dashboard", () => {
  const shown = new Set(
    dashboard.panels.flatMap(({ targets = [] }) =>
      targets.flatMap(({ expr }) => selectedBy(expr).map(({ metric }) => told.get(metric)!.own)),
    ),
  );
  const all = new Set([...told.values()].map(({ own }) => own).filter(ofItsOwn));
  all.delete("up");
  expect([...all].filter((name) => !shown.has(name))).toEqual([]);
});

test("panels have a place each, and ask the source that is chosen above them", () => {
  const { panels, templating } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const [source] = templating.list;
  expect(source).toMatchObject({ type: "datasource", query: "prometheus" });
  const cells = new Set<string>();
  for (const { title, type, datasource, targets, gridPos } of panels) {
    expect([title, targets === undefined]).toEqual([title, type === "row"]);
    if (type !== "row")
      expect([title, datasource]).toEqual([title, { type: "prometheus", uid: `\${${source!.name}}` }]);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect([title, x < 24, cells.has(`${x} ${y}`)]).toEqual([title, true, false]);
        cells.add(`${x} ${y}`);
      }
  }
});

test("each alert is about metrics that there are, and leads to a section that there is", async () => {
  expect(rules.length).toBeGreaterThan(10);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { alert, expr, annotations } of rules) {
    const asked = selectedBy(expr).map(({ metric }) => metric);
    expect({ alert, missing: asked.filter((name) => !told.has(name)) }).toEqual({ alert, missing: [] });
    expect(asked).not.toEqual([]);
    const [file, anchor] = annotations.runbook.split("#");
    const headings = (await read(file!)).match(/^#+ .*$/gm) ?? [];
    const anchors = headings.map((heading) => heading.replace(/^#+ /, "").toLowerCase().replaceAll(" ", "-"));
    expect({ alert, anchors }).toEqual({ alert, anchors: expect.arrayContaining([anchor]) });
  }
});

test("an expression with a mistake would be noticed", () => {
  expect(() => selectedBy("rate(up[5m)")).toThrow("not PromQL");
  expect(selectedBy("sum by (task) (no_such_metric) / up").map(({ metric }) => metric)).toEqual([
    ...["no_such_metric", "up"],
  ]);
});

test("each path that a deployment asks whether the server serves is answered to who has no key", async () => {
  const files = ["Dockerfile", "docker-compose.yml", ...globSync("deploy/kubernetes/*.yaml", { cwd: ROOT })];
  const texts = await Promise.all(files.map(read));
  const paths = texts.flatMap((text) =>
    [...text.matchAll(/(?:httpGet: \{ path: |:(?:3000|\$\{process\.env\.PORT\}))(\/\w+)/g)].map(
      ([, path]) => path!,
    ),
  );
  expect(paths.toSorted()).toEqual(["/healthz", "/healthz", "/readyz", "/readyz", "/readyz"]);
  for (const path of paths)
    expect([path, (await call(server.url + path, "GET", undefined)).status]).toEqual([path, 200]);
});
