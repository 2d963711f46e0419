// The ways to deploy the service, compared with each other and with what the service, its image and its store expect.
import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { parse, parseAllDocuments } from "yaml";
import { loadConfig, VARIABLES } from "../config.ts";
import { ROOT, run } from "./support/process.ts";

const read = (file: string) => readFile(join(ROOT, file), "utf8");

type Service = {
  image: string;
  build?: string;
  init?: boolean;
  command?: string[];
  entrypoint?: string[];
  cap_add?: string[];
  environment?: Record<string, string | number>;
  expose?: string[];
  stop_grace_period?: string;
  healthcheck: Record<"interval" | "timeout" | "start_period", string> & { test: string[]; disable?: true };
  deploy: { resources: { limits: { cpus: string; memory: string; pids: number } } };
};
const compose = async () =>
  (parse(await read("docker-compose.yml"), { merge: true }) as { services: Record<string, Service> })
    .services;
const OURS = ["migrate", "server", "worker", "admin"];
const seconds = (text: string) => Number(/^(\d+)s$/.exec(text)![1]);
const bytes = (text: string) =>
  Number.parseInt(text, 10) * 2 ** ({ k: 10, m: 20, g: 30 }[/[kmg]/i.exec(text)![0].toLowerCase()] ?? 0);

type Container = {
  ports?: { name: string; containerPort: number }[];
  resources: { requests: { memory: string }; limits: { memory: string } };
};
type Pod = {
  containers: [Container];
  volumes: { name: string; secret?: { secretName: string } }[];
  terminationGracePeriodSeconds?: number;
};
type KubernetesObject = {
  kind: string;
  metadata: { name: string; labels: { part: string } };
  spec: {
    template?: { spec: Pod };
    podSelector?: { matchLabels: { part: string } };
    ingress?: unknown;
  };
};
async function kubernetes(): Promise<KubernetesObject[]> {
  const texts = await Promise.all(
    ["migrate", "server", "worker", "network"].map((name) => read(`deploy/kubernetes/${name}.yaml`)),
  );
  return texts.flatMap((text) =>
    parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject),
  );
}
async function pods(): Promise<Record<string, Pod>> {
  const parts = (await kubernetes()).filter(({ spec }) => spec.template);
  return Object.fromEntries(parts.map(({ metadata, spec }) => [metadata.labels.part, spec.template!.spec]));
}
const unit = (part: string) => read(`deploy/systemd/engagement-graph-${part}.service`);

test("compose: a setting is named from outside as it is inside, and each can be named but those that compose decides", async () => {
  const services = await compose();
  // What compose decides, what needs a file beside it, and what only the embedded parts have.
  const DECIDED = [
    ...["PORT", "HOST", "DATA_DIR", "METRICS_PORT", "DATABASE_URL", "DATABASE_LISTEN_URL"],
    ...["DATABASE_READ_URL", "DATABASE_READ_MAX_LAG_MS", "FUSEKI_URL", "FUSEKI_USER", "FUSEKI_PASSWORD"],
    ...["SPARQL_QUERY_URL", "SPARQL_UPDATE_URL", "SPARQL_GRAPH_STORE_URL"],
    ...["PERSISTED_DOCUMENTS", "PERSISTED_DOCUMENTS_ONLY"],
  ];
  for (const name of OURS) {
    const given = Object.entries(services[name]!.environment!).filter(([, value]) =>
      String(value).startsWith("$"),
    );
    expect([name, given.filter(([variable, value]) => value !== `\${${variable}:-}`)]).toEqual([name, []]);
    expect([name, given.map(([variable]) => variable).toSorted()]).toEqual([
      ...[name, VARIABLES.filter((variable) => !DECIDED.includes(variable)).toSorted()],
    ]);
  }
});

test("the store is asked where it listens, by the user that it knows", async () => {
  const services = await compose();
  const [start, config, image] = await Promise.all(
    ["start.sh", "config.ttl", "Dockerfile"].map((name) => read(`graph/fuseki/${name}`)),
  );
  const [, port] = /--port="\$\{FUSEKI_PORT:-(\d+)\}"/.exec(start!)!;
  const [, dataset] = /a fuseki:Service ;\s+fuseki:name "(\w+)"/.exec(config!)!;
  const [, user] = /fuseki:allowedUsers "(\w+)"/.exec(config!)!;
  expect(start).toContain(`printf '${user}: MD5:%s\\n' "$hash" >passwd`);
  expect(await read("graph/fuseki/ping.sh")).toContain(`FUSEKI_PORT:-${port}}`);
  expect(image).toMatch(new RegExp(`^EXPOSE ${port}$`, "m"));
  const settings = await read("deploy/kubernetes/settings.env");
  const named = [
    ...OURS.map((name) => services[name]!.environment!),
    Object.fromEntries(settings.split("\n").map((line) => line.split(/=(.*)/))) as Record<string, string>,
  ];
  for (const { FUSEKI_URL, FUSEKI_USER } of named)
    expect([FUSEKI_URL, FUSEKI_USER]).toEqual([`http://fuseki:${port}/${dataset}`, user]);
  expect(services["fuseki"]).toMatchObject({ build: "graph/fuseki" });
});

test("the store's image has what its scripts look for, of the release that the tests run", async () => {
  const image = await read("graph/fuseki/Dockerfile");
  const start = await read("graph/fuseki/start.sh");
  const [, jar] = /FUSEKI_JAR:-([^}]+)\}/.exec(start)!;
  const [, version] = /version: "(\d+\.\d+\.\d+)"/.exec(await read("graph/fuseki/fetch.ts"))!;
  const [, chmodded, url, to] = /^ADD --checksum=\S+ --chmod=(\d+) \\\n\s+(\S+) \\\n\s+(\S+)$/m.exec(image)!;
  expect([chmodded, to]).toEqual(["644", jar]);
  expect(url).toContain(`/jena-fuseki-server/${version}/jena-fuseki-server-${version}.jar`);
  const [, files, folder] = /^COPY (.+) (\S+)$/m.exec(image)!;
  expect(files!.split(" ").toSorted()).toEqual(["config.ttl", "log4j2.properties", "ping.sh", "start.sh"]);
  expect(image).toContain(`CMD ["${folder!}start.sh"]`);
  expect((await compose())["fuseki"]!.healthcheck.test).toEqual(["CMD", `${folder!}ping.sh`]);
  const [, data] = /FUSEKI_DATA:-([^}]+)\}/.exec(start)!;
  expect(image).toMatch(new RegExp(`^RUN useradd .*--create-home --home-dir ${data} (\\w+)$`, "m"));
  expect(image).toMatch(/^USER fuseki$/m);
  expect(image).toMatch(new RegExp(`^VOLUME ${data}$`, "m"));
  for (const name of ["graph/fuseki/start.sh", "graph/fuseki/ping.sh", "docker/secrets.sh"])
    expect([name, (await stat(join(ROOT, name))).mode & 0o111]).toEqual([name, 0o111]);
});

test("the store has as much memory beside Java's own", async () => {
  const { environment, deploy } = (await compose())["fuseki"]!;
  const [, heap] = /^-Xmx(\w+)$/.exec(String(environment!["JAVA_OPTS"]))!;
  expect(bytes(deploy.resources.limits.memory)).toBe(2 * bytes(heap!));
});

test("a part has the same memory and the same time to end wherever it runs", async () => {
  const services = await compose();
  const { shutdown } = loadConfig({});
  for (const part of ["server", "worker"]) {
    const pod = (await pods())[part]!;
    const text = await unit(part);
    const [{ resources }] = pod.containers;
    expect(bytes(resources.requests.memory)).toBeLessThan(bytes(resources.limits.memory));
    const memory = [
      services[part]!.deploy.resources.limits.memory,
      resources.limits.memory,
      /^MemoryMax=(\w+)$/m.exec(text)![1]!,
    ];
    expect([part, memory.map(bytes)]).toEqual([part, [2 ** 30, 2 ** 30, 2 ** 30]]);
    const ends = [
      seconds(services[part]!.stop_grace_period!),
      pod.terminationGracePeriodSeconds!,
      Number(/^TimeoutStopSec=(\d+)$/m.exec(text)![1]),
    ];
    expect([part, ends]).toEqual([part, [ends[0], ends[0], ends[0]]]);
    expect(ends[0]! * 1_000).toBeGreaterThan(shutdown.timeoutMs);
    expect(Number(/^TasksMax=(\d+)$/m.exec(text)![1])).toBe(services[part]!.deploy.resources.limits.pids);
  }
  // What it has in memory is written before the database ends.
  expect(seconds(services["database"]!.stop_grace_period!)).toBeGreaterThanOrEqual(60);
});

test("what is watched can be reached: the metrics of the server and of the worker, on the port that they are told", async () => {
  const services = await compose();
  const settings = await read("deploy/kubernetes/settings.env");
  const policies = (await kubernetes()).filter(({ kind }) => kind === "NetworkPolicy");
  for (const part of ["server", "worker"]) {
    const { environment, expose } = services[part]!;
    expect([part, expose]).toEqual([part, [String(environment!["METRICS_PORT"])]]);
    const [container] = (await pods())[part]!.containers;
    const port = container.ports!.find(({ name }) => name === "metrics")!.containerPort;
    expect(settings).toMatch(new RegExp(`^METRICS_PORT=${port}$`, "m"));
    const policy = policies.find(({ spec }) => spec.podSelector!.matchLabels.part === part)!;
    expect(JSON.stringify(policy.spec.ingress)).toContain(
      `{"kubernetes.io/metadata.name":"monitoring"}}}],"ports":[{"port":"metrics"}]`,
    );
    // On one machine each needs a port of its own.
    expect(await unit(part)).toContain(`\nEnvironmentFile=-/etc/engagement-graph/settings-${part}\n`);
  }
});

test("compose: each child that is left is waited for, no part but the database has a right, and a probe has its time", async () => {
  for (const [name, { init, cap_add: rights = [], healthcheck }] of Object.entries(await compose())) {
    expect([name, init]).toEqual([name, true]);
    expect([name, rights]).toEqual([
      ...[name, name === "database" ? ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"] : []],
    ]);
    if (healthcheck.disable) continue;
    const { interval, timeout, start_period: start } = healthcheck;
    expect([name, seconds(interval) >= seconds(timeout), seconds(start) >= 20]).toEqual([name, true, true]);
  }
});

test("compose asks how a part is as its image does, of which a server that is not ready is not healthy", async () => {
  const services = await compose();
  for (const [name, file] of [
    ["server", "Dockerfile"],
    ["fuseki", "graph/fuseki/Dockerfile"],
  ] as const) {
    const { interval, timeout, start_period: start } = services[name]!.healthcheck;
    const options = `--interval=${interval} --timeout=${timeout} --start-period=${start} `;
    expect(await read(file)).toContain(`\nHEALTHCHECK ${options}`);
  }
  let status = 200;
  const server = createServer((_request, response) => void response.writeHead(status).end());
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const [, json] = /^ {2}CMD (\[.*\])$/m.exec(await read("Dockerfile"))!;
  const [command, ...args] = JSON.parse(json!) as string[];
  const [, inCompose, ...theirs] = services["server"]!.healthcheck.test;
  expect([command, inCompose]).toEqual(["node", "node"]);
  try {
    for (const asked of [args, theirs.map((text) => text.replace(":3000/", `:${port}/`))]) {
      for (const [answer, code] of [
        [200, 0],
        [503, 1],
      ] as const) {
        status = answer;
        expect(await run(process.execPath, asked, { PORT: String(port) })).toMatchObject({ code });
      }
    }
    await new Promise((done) => void server.close(done));
    expect(await run(process.execPath, args, { PORT: String(port) })).toMatchObject({ code: 1 });
  } finally {
    server.close();
  }
});

test("Kubernetes and systemd: server, worker and migration differ in what they run, and in nothing else by mistake", async () => {
  /** What a part has like the others; what only it has, and which login, is for tests of its own. */
  const shared = (part: string, pod: Pod) => {
    const { containers, terminationGracePeriodSeconds: _, ...rest } = pod;
    const [{ ports: _ports, resources: _resources, ...container }] = containers;
    const own = /^(name|command|.*Probe)$/;
    const kept = Object.entries(container).filter(([key]) => !own.test(key));
    const others = Object.entries(rest).filter(([key]) => !/^(restartPolicy|topology.*)$/.test(key));
    const text = JSON.stringify([kept, others]).replaceAll(`part":"${part}"`, "");
    return text.replace(/engagement-(owner|server)"/, 'login"');
  };
  const texts = Object.entries(await pods()).map(([part, pod]) => shared(part, pod));
  expect(texts).toEqual([texts[0], texts[0], texts[0]]);
  // Kubernetes reads 0440 as octal.
  for (const said of ['"runAsUser":1000', '"fsGroup":1000', '"defaultMode":440', '"runAsNonRoot":true'])
    expect(texts[0]).toContain(said);
  const [server, worker] = await Promise.all(["server", "worker"].map(unit));
  const named = (text: string) => text.replaceAll("server_database_url", "database_url");
  expect(named(server!).replaceAll(/\bserver\b/g, "worker")).toBe(named(worker!));
  const migrate = await unit("migrate");
  const OF_WHAT_STAYS =
    /^(RestartSec|Restart|TimeoutStopSec|MemoryMax|TasksMax|EnvironmentFile=-|Type|After|#)/;
  const lines = worker!.replaceAll(/\bworker\b/g, "migrate").split("\n");
  const rest = lines.filter((line) => !OF_WHAT_STAYS.test(line) && !/^(Description|ExecStart)/.test(line));
  expect(migrate.split("\n")).toEqual(expect.arrayContaining(rest));
  for (const text of [server, worker]) {
    expect(text).toMatch(/^RestartSec=\d$/m);
    expect(text).toMatch(/^Type=exec$/m);
  }
  for (const text of [server!, worker!, migrate]) {
    expect(text).toMatch(/^After=network-online\.target/m);
    expect(text).toMatch(/^Wants=network-online\.target$/m);
    const [, folder] = /^WorkingDirectory=(\S+)$/m.exec(text)!;
    expect(text).toContain(`\nExecStart=${folder}/node_modules/.bin/node `);
    expect(text).toMatch(/^Environment=NODE_ENV=production$/m);
  }
});
