// The files in which the service is deployed: that they can be read, name only settings that there are, pin what they
// take from others, and hold no secret. What they do is tried by hand where Docker, Kubernetes and systemd are.
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { globSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { parse, parseAllDocuments } from "yaml";
import { loadConfig, SECRETS, VARIABLES } from "../config.ts";
import { ROOT } from "./support/process.ts";

const read = (file: string) => readFile(join(ROOT, file), "utf8");
const FILES = ["docker-compose.yml", ...globSync("deploy/**/*.*", { cwd: ROOT })].toSorted();
const IMAGES = ["Dockerfile", "graph/fuseki/Dockerfile"];

type Limits = { limits?: { cpus?: string; memory?: string; pids?: number } };
type ComposeService = {
  image: string;
  build?: string;
  environment?: Record<string, string | number>;
  healthcheck?: { test?: unknown; disable?: boolean; timeout?: string };
  restart: string;
  secrets?: string[];
  volumes?: string[];
  ports?: string[];
  expose?: string[];
  command?: string[];
  profiles?: string[];
  tmpfs?: string[];
  logging?: { options: Record<string, string> };
  deploy?: { resources: Limits };
  security_opt?: string[];
  cap_drop?: string[];
  read_only?: boolean;
  networks: string[];
  depends_on?: Record<string, { condition: string }>;
};
type Compose = {
  services: Record<string, ComposeService>;
  networks: Record<string, { internal?: boolean } | null>;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, null>;
};

const compose = async () => parse(await read("docker-compose.yml"), { merge: true }) as Compose;

type Env = { name: string; value: string };
type Probe = {
  httpGet?: { path: string; port: string };
  exec?: { command: string[] };
  timeoutSeconds?: number;
};
type Container = {
  image: string;
  command?: string[];
  env?: Env[];
  ports?: { name: string; containerPort: number }[];
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  securityContext: object;
  resources: { requests?: object; limits?: object };
};
type KubernetesObject = {
  kind: string;
  metadata: { name: string; labels?: { part: string } };
  spec: {
    replicas?: number;
    minAvailable?: number;
    strategy?: { rollingUpdate: object };
    selector?: { matchLabels?: Record<string, string> };
    ports?: { port: number; targetPort: string }[];
    template?: {
      metadata: { labels: Record<string, string> };
      spec: {
        containers: Container[];
        securityContext: object;
        terminationGracePeriodSeconds?: number;
        volumes: { name: string; secret?: { secretName: string }; emptyDir?: object }[];
      };
    };
    podSelector?: { matchLabels: { part: string } };
    policyTypes?: string[];
    ingress?: { from: { namespaceSelector: { matchLabels: object } }[]; ports: { port: string }[] }[];
  };
};

async function kubernetes(): Promise<KubernetesObject[]> {
  const files = globSync("deploy/kubernetes/*.yaml", { cwd: ROOT }).filter(
    (file) => !file.includes("kustomization"),
  );
  const texts = await Promise.all(files.map(read));
  return texts.flatMap((text) =>
    parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject),
  );
}

async function containers(): Promise<Container[]> {
  return (await kubernetes()).flatMap(({ spec }) => spec.template?.spec.containers ?? []);
}

/** Lines of NAME=value, without comments. */
function assignments(text: string): [name: string, value: string][] {
  return [...text.matchAll(/^(?:Environment=)?([A-Z][A-Z_]*)=(.*)$/gm)].map(([, name, value]) => [
    name!,
    value!,
  ]);
}

// Settings of Node and of what stands beside the service.
const OTHERS: Record<string, readonly string[]> = {
  database: ["POSTGRES_USER", "POSTGRES_PASSWORD_FILE", "POSTGRES_DB"],
  fuseki: ["FUSEKI_PASSWORD_FILE", "JAVA_OPTS"],
};
const OURS: readonly string[] = [...VARIABLES, ...SECRETS.map((name) => `${name}_FILE`), "NODE_ENV"];

test("there is something to look at", () => {
  expect(FILES.length).toBeGreaterThanOrEqual(9);
});

test("every variable that is set is one that its reader knows", async () => {
  const { services } = await compose();
  const set = [
    ...Object.entries(services).flatMap(([name, { environment }]) =>
      Object.keys(environment ?? {}).map((variable) => ({ variable, known: OTHERS[name] ?? OURS })),
    ),
    ...(await containers()).flatMap(({ env }) =>
      (env ?? []).map(({ name }) => ({ variable: name, known: OURS })),
    ),
    ...(
      await Promise.all(
        [...globSync("deploy/systemd/*.service", { cwd: ROOT }), "deploy/kubernetes/settings.env"].map(read),
      )
    )
      .flatMap(assignments)
      .map(([variable]) => ({ variable, known: OURS })),
  ];
  expect(set.length).toBeGreaterThan(40);
  expect(set.filter(({ variable, known }) => !known.includes(variable))).toEqual([]);
});

test("the settings of the example for Kubernetes can be used as they are", async () => {
  const settings = Object.fromEntries(assignments(await read("deploy/kubernetes/settings.env")));
  expect(() => loadConfig({ ...settings, FUSEKI_PASSWORD: "x" })).not.toThrow();
});

test("an example with an https PLATFORM_URL trusts the proxy that ends it", async () => {
  const files = ["README.md", ...FILES, ...globSync("docs/*.md", { cwd: ROOT })];
  const ofEach = await Promise.all(
    files.map(async (file) => {
      const set = assignments(await read(file)).map(([name, value]) => [name, value.split(" ")[0]!] as const);
      return { file, settings: Object.fromEntries(set) };
    }),
  );
  const behindProxy = ofEach.filter(({ settings }) => settings["PLATFORM_URL"]?.startsWith("https:"));
  expect(behindProxy.map(({ file }) => file)).toContain("deploy/kubernetes/settings.env");
  const trusting = ({ settings }: { settings: NodeJS.ProcessEnv }) =>
    loadConfig({ TRUST_PROXY: settings["TRUST_PROXY"] }).trustProxy;
  expect(behindProxy.filter((example) => trusting(example) === 0)).toEqual([]);
});

test("what is taken from others is pinned by its digest, and what we build is ours", async () => {
  const { services } = await compose();
  const built = Object.values(services)
    .filter(({ build }) => build)
    .map(({ image }) => image);
  const used = [
    ...Object.values(services).map(({ image }) => image),
    ...(await containers()).map(({ image }) => image),
    ...(await Promise.all(IMAGES.map(read))).flatMap((text) =>
      [...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image!),
    ),
  ];
  expect(used.length).toBeGreaterThan(8);
  const PINNED = /^[a-z/-]+:[\w.-]+@sha256:[0-9a-f]{64}$/;
  expect(used.filter((image) => !built.includes(image) && !PINNED.test(image))).toEqual([]);
  const fetched = (await Promise.all(IMAGES.map(read))).flatMap(
    (text) => text.match(/^(?:ADD|RUN.*(?:curl|wget|mvn)).*/gm) ?? [],
  );
  expect(fetched.filter((line) => !/^ADD --checksum=sha256:[0-9a-f]{64} /.test(line))).toEqual([]);
});

test("no file holds a password, or a default for one", async () => {
  const texts = await Promise.all(
    [...FILES, ...IMAGES].map(async (file) => ({ file, text: await read(file) })),
  );
  const found = texts.flatMap(({ file, text }) => {
    // A password in a URL, one that is set, and one that a variable falls back to.
    const written = text
      .split("\n")
      .filter((line) => !line.trimStart().startsWith("#"))
      .filter((line) =>
        /:\/\/[^\s/@]*:[^\s/@…]+@|(?:PASSWORD|SECRET|TOKEN)[\w}]*\s*[:=]\s*["']?(?!-\})[^\s/"'$%]|(?:PASSWORD|SECRET|TOKEN):?-\w/.test(
          line,
        ),
      );
    return written.map((line) => `${file}: ${line.trim()}`);
  });
  expect(found).toEqual([]);
  const { services, secrets } = await compose();
  const asked = Object.values(services).flatMap((service) => service.secrets ?? []);
  expect([...new Set(asked)].toSorted()).toEqual(Object.keys(secrets).toSorted());
});

test("compose: every limit of docs/operations.md can be set from outside", async () => {
  const { services } = await compose();
  const limits = /^## Limits$([^]*?)^\*\*/m.exec(await read("docs/operations.md"))![1]!;
  const named = VARIABLES.filter((name) => limits.includes(`\`${name}\``));
  expect(named.length).toBeGreaterThan(8);
  for (const name of named)
    expect([name, services["server"]!.environment![name]]).toEqual([name, `\${${name}:-}`]);
});

test("compose: everything has limits and is checked, and only the server has a port, on loopback", async () => {
  const { services } = await compose();
  for (const [name, service] of Object.entries(services)) {
    expect([name, service]).toEqual([
      name,
      expect.objectContaining({
        deploy: {
          resources: {
            limits: {
              ...{ cpus: expect.any(String), memory: expect.any(String), pids: expect.any(Number) },
            },
          },
        },
        security_opt: ["no-new-privileges:true"],
        cap_drop: ["ALL"],
        // What runs to its end says by its exit code how it is.
        healthcheck:
          service.restart === "no" ? { disable: true } : expect.objectContaining({ test: expect.any(Array) }),
      }),
    ]);
  }
  const published = Object.entries(services).flatMap(([name, { ports }]) =>
    (ports ?? []).map((port) => [name, port]),
  );
  expect(published).toEqual([["server", expect.stringMatching(/^127\.0\.0\.1:/)]]);
  expect(services["server"]?.environment).toMatchObject({ METRICS_PORT: expect.any(Number) });
  expect(services["admin"]?.volumes).toEqual([expect.stringMatching(/:\/imports:ro$/)]);
});

test("compose: what is kept is in a volume, and what runs of ours writes nowhere but where that goes with it", async () => {
  const { services, volumes } = await compose();
  const [, folder] = /^VOLUME (\S+)$/m.exec(await read("graph/fuseki/Dockerfile"))!;
  expect(services["fuseki"]!.volumes).toEqual([`fuseki:${folder!}`]);
  expect(services["database"]!.volumes).toEqual([
    // Where the image of PostgreSQL keeps its data up to release 17.
    "database:/var/lib/postgresql/data",
    "./docker/server-login.sh:/docker-entrypoint-initdb.d/server-login.sh:ro",
  ]);
  expect(Object.keys(volumes).toSorted()).toEqual(["database", "fuseki"]);
  for (const [name, { build, tmpfs }] of Object.entries(services))
    expect([name, tmpfs]).toEqual([name, build === "." ? ["/tmp"] : undefined]);
});

test("compose: what is read as a secret is one of the service's, and its own files are no larger than they may be", async () => {
  const { services } = await compose();
  for (const [name, { environment = {}, secrets = [], logging }] of Object.entries(services)) {
    const files = Object.values(environment).flatMap(
      (value) => /^\/run\/secrets\/(\w+)$/.exec(String(value))?.[1] ?? [],
    );
    expect([name, secrets]).toEqual([name, expect.arrayContaining(files)]);
    expect([name, logging!.options]).toEqual([
      name,
      { "max-size": expect.stringMatching(/^\d+m$/), "max-file": expect.stringMatching(/^\d$/) },
    ]);
  }
  // The script of the volume makes the server's login with it.
  expect(services["database"]!.secrets).toContain("server_password");
});

test("compose: what ends is started again, the tool only when it is asked for, and a probe asks where it answers", async () => {
  const { services } = await compose();
  const restarts = Object.entries(services).map(([name, { restart }]) => [name, restart]);
  expect(Object.fromEntries(restarts)).toEqual({
    ...{ database: "unless-stopped", fuseki: "unless-stopped", migrate: "no" },
    ...{ server: "unless-stopped", worker: "unless-stopped", admin: "no" },
  });
  expect(services["admin"]!.profiles).toEqual(["tools"]);
  const { server, worker, database } = services;
  expect(server!.expose).toEqual([String(server!.environment!["METRICS_PORT"])]);
  const [, port] = /^EXPOSE (\d+)$/m.exec(await read("Dockerfile"))!;
  expect(server!.ports).toEqual([`127.0.0.1:\${PORT:-3000}:${port!}`]);
  expect(JSON.stringify(server!.healthcheck)).toContain(`http://127.0.0.1:${port!}/`);
  expect(worker!.depends_on).toEqual({
    migrate: { condition: "service_completed_successfully" },
    fuseki: { condition: "service_healthy" },
  });
  expect(services["migrate"]!.depends_on).toEqual({ database: { condition: "service_healthy" } });
  expect(worker!.healthcheck).toMatchObject({
    test: ["CMD", "node", "admin/main.ts", "graph", "status"],
    timeout: "30s",
  });
  const { POSTGRES_USER: user, POSTGRES_DB: name } = database!.environment!;
  expect(database!.healthcheck!.test).toEqual([
    ...["CMD", "pg_isready", "--host=127.0.0.1", `--username=${user}`, `--dbname=${name}`],
  ]);
});

test("compose: what holds the data is within a network that leads nowhere, and the server is no owner of it", async () => {
  const { services, networks } = await compose();
  expect(networks).toEqual({ inside: { internal: true }, outside: null });
  for (const [name, { networks: own, build, read_only: isReadOnly }] of Object.entries(services)) {
    const isOurs = build === ".";
    expect([name, own, isReadOnly ?? false]).toEqual([
      name,
      isOurs ? ["inside", "outside"] : ["inside"],
      isOurs,
    ]);
    if (!isOurs) continue;
    const secret = name === "server" ? "server_database_url" : "database_url";
    const { environment, secrets } = services[name]!;
    expect([name, environment!["DATABASE_URL_FILE"]]).toEqual([name, `/run/secrets/${secret}`]);
    expect([name, secrets]).toEqual([name, expect.arrayContaining([secret])]);
    expect([name, secrets!.length]).toEqual([name, 2]);
    const migrated = { migrate: { condition: "service_completed_successfully" } };
    if (name !== "migrate")
      expect([name, services[name]!.depends_on]).toEqual([name, expect.objectContaining(migrated)]);
  }
  expect(JSON.stringify(services["server"]!.healthcheck)).toContain("/readyz");
});

test("Kubernetes: two servers, two workers, a migration; each restricted, and its secrets by reference", async () => {
  const objects = await kubernetes();
  const named = (kind: string) =>
    objects
      .filter((object) => object.kind === kind)
      .map(({ metadata }) => metadata.name)
      .toSorted();
  expect(named("Deployment")).toEqual(["engagement-server", "engagement-worker"]);
  expect(named("PodDisruptionBudget")).toEqual(named("Deployment"));
  expect(named("Job")).toEqual(["migrate"]);
  for (const { kind, spec } of objects) {
    if (kind === "Deployment") expect(spec.replicas).toBe(2);
    if (!spec.template) continue;
    const { securityContext, volumes, containers: run } = spec.template.spec;
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(volumes.filter(({ secret }) => secret).map(({ name }) => name)).toEqual(["database", "store"]);
    for (const container of run) {
      expect(container.securityContext).toEqual({
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
      });
      expect(container.resources).toMatchObject({ requests: expect.any(Object), limits: expect.any(Object) });
    }
  }
  const [server] = objects.filter(
    ({ metadata, kind }) => kind === "Deployment" && metadata.name === "engagement-server",
  );
  const probes = ["startupProbe", "readinessProbe", "livenessProbe"];
  expect(Object.keys(server!.spec.template!.spec.containers[0]!)).toEqual(expect.arrayContaining(probes));
  const { resources } = parse(await read("deploy/kubernetes/kustomization.yaml")) as { resources: string[] };
  const there = globSync("*.yaml", { cwd: join(ROOT, "deploy/kubernetes") });
  expect([...resources, "kustomization.yaml"].toSorted()).toEqual(there.toSorted());
});

test("Kubernetes: the server is no owner of the data, ends in good order, and is restarted only when it hangs", async () => {
  const objects = await kubernetes();
  const settings = Object.fromEntries(assignments(await read("deploy/kubernetes/settings.env")));
  const { shutdown, metricsPort } = loadConfig({ ...settings, FUSEKI_PASSWORD: "x" });
  const parts = objects.filter(({ spec }) => spec.template);
  expect(parts.map(({ metadata }) => metadata.labels!.part).toSorted()).toEqual([
    "migrate",
    "server",
    "worker",
  ]);
  for (const { kind, metadata, spec } of parts) {
    const { volumes, containers: run, terminationGracePeriodSeconds, ...pod } = spec.template!.spec;
    const { part } = metadata.labels!;
    expect([part, volumes.map(({ secret }) => secret?.secretName)]).toEqual([
      part,
      [part === "server" ? "engagement-server" : "engagement-owner", "engagement-store", undefined],
    ]);
    expect([part, pod]).toEqual([
      part,
      expect.objectContaining({ automountServiceAccountToken: false, enableServiceLinks: false }),
    ]);
    if (kind === "Deployment")
      expect(terminationGracePeriodSeconds! * 1_000).toBeGreaterThan(shutdown.delayMs + shutdown.timeoutMs);
    for (const { env, volumeMounts } of run)
      for (const { name, value } of env!) {
        const mount = volumeMounts.find(({ mountPath }) => value.startsWith(`${mountPath}/`));
        expect([part, name, mount?.name]).toEqual([
          part,
          name,
          name === "DATABASE_URL_FILE" ? "database" : "store",
        ]);
      }
  }
  const [server] = parts.filter(({ metadata }) => metadata.labels!.part === "server");
  const { startupProbe, readinessProbe, livenessProbe, ...container } =
    server!.spec.template!.spec.containers[0]!;
  // A server that cannot reach its database takes no requests; to start it again would mend nothing.
  expect([startupProbe, readinessProbe, livenessProbe].map((probe) => probe!.httpGet)).toEqual([
    { path: "/healthz", port: "http" },
    { path: "/readyz", port: "http" },
    { path: "/healthz", port: "http" },
  ]);
  expect(container).toMatchObject({
    ports: [
      { name: "http", containerPort: 3000 },
      { name: "metrics", containerPort: metricsPort },
    ],
  });
});

test("Kubernetes: nobody reaches a part but those who are named, and those the server alone", async () => {
  const policies = (await kubernetes()).filter(({ kind }) => kind === "NetworkPolicy");
  const reached = policies.map(({ spec: { podSelector, policyTypes, ingress = [] } }) => {
    const { part } = podSelector!.matchLabels;
    return { part, policyTypes, sources: ingress.length };
  });
  expect(reached).toEqual([
    { part: "server", policyTypes: ["Ingress"], sources: 2 },
    { part: "worker", policyTypes: ["Ingress"], sources: 1 },
    { part: "migrate", policyTypes: ["Ingress"], sources: 0 },
  ]);
  const sources = policies.flatMap(({ spec }) => spec.ingress ?? []);
  expect(
    sources.map(({ from, ports }) => [
      from.map(({ namespaceSelector }) => namespaceSelector.matchLabels),
      ports,
    ]),
  ).toEqual([
    [[{ "kubernetes.io/metadata.name": "ingress-nginx" }], [{ port: "http" }]],
    [[{ "kubernetes.io/metadata.name": "monitoring" }], [{ port: "metrics" }]],
    [[{ "kubernetes.io/metadata.name": "monitoring" }], [{ port: "metrics" }]],
  ]);
});

test("Kubernetes: while pods are exchanged or evicted one serves, and the service leads to the servers", async () => {
  const objects = await kubernetes();
  const find = (kind: string, name: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name)!.spec;
  for (const name of ["engagement-server", "engagement-worker"]) {
    const { selector, template } = find("Deployment", name);
    expect([name, template!.metadata.labels]).toEqual([name, selector!.matchLabels]);
    // Where none may be missing, no machine can be emptied.
    expect([name, find("PodDisruptionBudget", name)]).toEqual([name, { minAvailable: 1, selector }]);
  }
  const { strategy, selector, template } = find("Deployment", "engagement-server");
  expect(strategy).toEqual({ rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
  expect(find("Service", "engagement-server")).toEqual({
    selector: selector!.matchLabels,
    ports: [{ name: "http", port: 80, targetPort: "http" }],
  });
  expect(template!.spec.containers[0]!.ports!.map(({ name }) => name)).toContain("http");
});

test("Kubernetes: each pod runs its part, reads its secrets, writes nowhere but /tmp, and has time to be asked", async () => {
  const run: Record<string, Container> = {};
  for (const { metadata, spec } of await kubernetes()) {
    if (!spec.template) continue;
    const { part } = metadata.labels!;
    run[part] = spec.template.spec.containers[0]!;
    const { volumes } = spec.template.spec;
    expect([part, volumes.filter(({ emptyDir }) => emptyDir)]).toEqual([
      part,
      [{ name: "tmp", emptyDir: { sizeLimit: "64Mi" } }],
    ]);
    expect([part, run[part].volumeMounts.map(({ mountPath, readOnly }) => [mountPath, readOnly])]).toEqual([
      part,
      [
        ["/secrets/database", true],
        ["/secrets/store", true],
        ["/tmp", undefined],
      ],
    ]);
  }
  const commands = Object.entries(run).map(([part, { command }]) => [part, command]);
  expect(Object.fromEntries(commands)).toEqual({
    ...{ migrate: ["node", "admin/migrate.ts"], server: undefined, worker: ["node", "worker/main.ts"] },
  });
  // A process of its own, which connects to everything: what is enough for a request is not for this.
  expect(run["worker"]!.readinessProbe).toEqual({
    exec: { command: ["node", "admin/main.ts", "graph", "status"] },
    ...{ periodSeconds: 60, timeoutSeconds: 30 },
  });
});

test("systemd: the server is no owner of the data; what ends is started again, and has its time to end", async () => {
  const { shutdown } = loadConfig({});
  for (const part of ["migrate", "server", "worker"]) {
    const text = await read(`deploy/systemd/engagement-graph-${part}.service`);
    const secret = part === "server" ? "server_database_url" : "database_url";
    expect(text).toContain(`\nLoadCredential=database_url:/etc/engagement-graph/secrets/${secret}\n`);
    expect(text).toMatch(/^DynamicUser=yes$/m);
    if (part === "migrate") {
      expect(text).toMatch(/^Type=oneshot$/m);
      // Started once more, at an upgrade, it runs once more; and a migration is not broken off after ninety seconds.
      expect(text).not.toMatch(/^RemainAfterExit/m);
      expect(text).toMatch(/^TimeoutStartSec=30min$/m);
      continue;
    }
    expect(text).toMatch(/^MemoryMax=1G$/m);
    expect(text).toMatch(/^TasksMax=\d+$/m);
    expect(text).toMatch(/^Restart=always$/m);
    expect(text).toMatch(/^After=.* engagement-graph-migrate\.service$/m);
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(text)!;
    expect(Number(seconds) * 1_000).toBeGreaterThan(shutdown.delayMs + shutdown.timeoutMs);
  }
});

test("the image runs as a user who may do nothing, with the port that it tells", async () => {
  const text = await read("Dockerfile");
  const last = text.slice(text.lastIndexOf("\nFROM "));
  expect(last).toMatch(/^USER node$/m);
  expect(last).toMatch(/^EXPOSE 3000$/m);
  expect(last).toMatch(/^ENV NODE_ENV=production HOST=0\.0\.0\.0 PORT=3000$/m);
  expect(last).toContain("/readyz`");
});

test("systemd: each unit starts a file that there is, and finds the secrets that it names", async () => {
  const units = globSync("deploy/systemd/*.service", { cwd: ROOT });
  expect(units).toHaveLength(3);
  for (const unit of units) {
    const text = await read(unit);
    const [, file] = /^ExecStart=\S+\/node (\S+)$/m.exec(text) ?? [];
    await expect(stat(join(ROOT, file!))).resolves.toBeDefined();
    const given = [...text.matchAll(/^LoadCredential=(\w+):/gm)].map(([, name]) => `%d/${name!}`);
    const named = assignments(text).flatMap(([name, value]) => (name.endsWith("_FILE") ? [value] : []));
    expect(given.toSorted()).toEqual(named.toSorted());
    expect(text).toMatch(/^NoNewPrivileges=yes$/m);
    expect(text).toMatch(/^ProtectSystem=strict$/m);
    expect(text).toMatch(/^EnvironmentFile=\/etc\/engagement-graph\/settings$/m);
    expect(text).toMatch(/^WantedBy=multi-user\.target$/m);
  }
});

test("systemd: no unit may do more than the others", async () => {
  const bounds = await Promise.all(
    ["migrate", "server", "worker"].map(async (part) => {
      const text = await read(`deploy/systemd/engagement-graph-${part}.service`);
      return /^# It needs its own files to read, and the network\.$[^]*?(?=^\[Install\])/m.exec(text)![0];
    }),
  );
  expect(bounds).toEqual([bounds[0], bounds[0], bounds[0]]);
  expect(bounds[0]).toMatch(/^CapabilityBoundingSet=$/m);
  expect(bounds[0]).toMatch(/^UMask=0077$/m);
  expect(bounds[0]!.trim().split("\n").length).toBeGreaterThanOrEqual(20);
});

test("alerts: each is raised where its summary says, and for no moment that passes", async () => {
  type Rule = { alert: string; expr: string; for?: string; labels: { severity: string } };
  const { groups } = parse(await read("deploy/prometheus/alerts.yml")) as { groups: { rules: Rule[] }[] };
  const state = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === "EngagementGraphState")!;
  // A state that follows another is no end of the trouble.
  expect(state.expr).not.toMatch(/\b(by|without)\b/);
  const raised = groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr, for: lasting, labels }) => {
      // Of several comparisons the last one is the alert's.
      const [, bound] = /.*\s((?:==|>|<) .+)$/.exec(expr)!;
      return [alert, [bound, lasting ?? "at once", labels.severity].join(", ")];
    }),
  );
  expect(Object.fromEntries(raised)).toEqual({
    EngagementGraphDown: "== 0, 2m, critical",
    EngagementDatabaseDown: "== 0, 1m, critical",
    EngagementReplicaPassedOver: "== 0, 10m, warning",
    EngagementWaitsForConnections: "> 0.5, 5m, warning",
    EngagementFailures: "> 0.01, 5m, critical",
    EngagementSlow: "> 1, 10m, warning",
    EngagementRefusals: "> 10, 10m, warning",
    EngagementEventLoopLag: "> 0.5, 5m, warning",
    EngagementJobsWait: "> 300, 5m, warning",
    EngagementJobsFailed: "> 0, at once, warning",
    EngagementMailsWait: "> 3600, at once, warning",
    EngagementMailsFailed: "> 0, at once, warning",
    EngagementGraphBehind: "> 300, 5m, warning",
    EngagementGraphState: "== 1, 10m, warning",
    EngagementGraphDrift: "> 0, at once, warning",
    EngagementGraphNotVerified: "> 3 * 86400, at once, warning",
    EngagementGraphVerificationFails: "== 1, 10m, warning",
  });
});

test("alerts: each looks back over several scrapes, and one for what happened once stays for an hour", async () => {
  const { groups } = parse(await read("deploy/prometheus/alerts.yml")) as {
    groups: { rules: { alert: string; expr: string }[] }[];
  };
  const spans = groups.flatMap(({ rules }) =>
    rules.flatMap(({ alert, expr }) =>
      [...expr.matchAll(/(\w+)\([\w{}=~!".|,/ ]*\[(\w+)\]/g)].map(
        ([, of, span]) => `${alert}: ${of} over ${span}`,
      ),
    ),
  );
  // A rate needs two scrapes, which are commonly a minute apart, and one of them may fail.
  expect([...new Set(spans)]).toEqual([
    "EngagementWaitsForConnections: rate over 5m",
    "EngagementFailures: rate over 5m",
    "EngagementSlow: rate over 5m",
    "EngagementRefusals: rate over 5m",
    "EngagementMailsFailed: delta over 1h",
  ]);
});

test("docker/secrets.sh makes every secret of the compose file, once, and each can be used", async () => {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-secrets-"));
  try {
    await cp(join(ROOT, "docker"), join(dir, "docker"), { recursive: true });
    const make = () => promisify(execFile)("sh", [join(dir, "docker/secrets.sh")]);
    const { secrets } = await compose();
    const contents = () =>
      Promise.all(Object.values(secrets).map(({ file }) => readFile(join(dir, file), "utf8")));
    await make();
    const made = await contents();
    expect(made.every((secret) => /[0-9a-f]{48}/.test(secret))).toBe(true);
    expect((await stat(join(dir, "secrets"))).mode & 0o077).toBe(0);
    // Those who read them in the containers are other users; the folder keeps out everybody here.
    for (const { file } of Object.values(secrets))
      expect([file, ((await stat(join(dir, file))).mode & 0o777).toString(8)]).toEqual([file, "644"]);
    for (const name of ["database_url", "server_database_url"]) {
      const file = join(dir, "secrets", name);
      const { username, password, host, pathname } = new URL(
        loadConfig({ DATABASE_URL_FILE: file }).databaseUrl!,
      );
      const isServer = name === "server_database_url";
      expect([username, host, pathname]).toEqual([
        isServer ? "engagement_server" : "engagement",
        ...["database:5432", "/engagement"],
      ]);
      const own = join(dir, "secrets", isServer ? "server_password" : "postgres_password");
      expect(password).toBe(await readFile(own, "utf8"));
    }
    await make();
    expect(await contents()).toEqual(made);
    await writeFile(join(dir, "secrets/fuseki_password"), "mine");
    await make();
    expect(await contents()).toContain("mine");
  } finally {
    await rm(dir, { recursive: true });
  }
});
