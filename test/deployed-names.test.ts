// What the examples for Kubernetes and the containers' scripts call each other: what one file names, another one makes.
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { parse, parseAllDocuments } from "yaml";
import { loadConfig } from "../config.ts";
import { ROOT } from "./support/process.ts";

const read = (file: string) => readFile(join(ROOT, file), "utf8");

type Pod = {
  containers: [
    {
      name: string;
      image: string;
      envFrom: { configMapRef: { name: string } }[];
      env: { name: string; value: string }[];
      volumeMounts: { name: string; mountPath: string }[];
      startupProbe?: { periodSeconds: number; failureThreshold: number };
      readinessProbe?: { periodSeconds: number; timeoutSeconds: number };
      livenessProbe?: { periodSeconds: number; timeoutSeconds: number; failureThreshold: number };
    },
  ];
  volumes: { name: string; secret?: { secretName: string } }[];
  restartPolicy?: string;
  topologySpreadConstraints?: { labelSelector: unknown; topologyKey: string; whenUnsatisfiable: string }[];
};
type Described = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  spec: {
    backoffLimit?: number;
    podSelector?: unknown;
    selector?: unknown;
    template?: { metadata: { labels: Record<string, string> }; spec: Pod };
  };
};

async function described(): Promise<Described[]> {
  const texts = await Promise.all(
    ["migrate", "server", "worker", "network"].map((name) => read(`deploy/kubernetes/${name}.yaml`)),
  );
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Described));
}
const templates = async () =>
  (await described()).flatMap(({ spec }) => (spec.template ? [spec.template] : []));

test("Kubernetes: each object is of the version that has its kind, and is about the pods of its part", async () => {
  const VERSIONS: Record<string, string> = {
    ...{ Deployment: "apps/v1", Job: "batch/v1", Service: "v1" },
    ...{ PodDisruptionBudget: "policy/v1", NetworkPolicy: "networking.k8s.io/v1" },
  };
  for (const { apiVersion, kind, metadata, spec } of await described()) {
    expect([kind, apiVersion]).toEqual([kind, VERSIONS[kind]]);
    const part = metadata.name.replace("engagement-", "");
    const labels = { app: "engagement", part };
    const selector = spec.podSelector ?? spec.selector;
    if (kind === "Service") expect(selector).toEqual(labels);
    else if (kind !== "Job")
      expect([metadata.name, selector]).toEqual([metadata.name, { matchLabels: labels }]);
    if (!spec.template) continue;
    expect([metadata.name, metadata.labels, spec.template.metadata.labels]).toEqual([
      ...[metadata.name, labels, labels],
    ]);
    const { containers, topologySpreadConstraints: spread, restartPolicy } = spec.template.spec;
    expect(containers.map(({ name }) => name)).toEqual([part]);
    if (kind === "Job") expect([restartPolicy, spec.backoffLimit]).toEqual(["Never", 6]);
    else
      expect(spread).toEqual([
        {
          ...{ maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway" },
          labelSelector: { matchLabels: labels },
        },
      ]);
  }
});

test("Kubernetes: the secrets, settings and image that the pods name are those that the example makes", async () => {
  const text = await read("deploy/kubernetes/kustomization.yaml");
  const commands = text.replaceAll(/\\\n#\s+/g, "");
  const made = [...commands.matchAll(/create secret generic (\S+)\s+--from-literal=(\w+)='([^']*)'/g)].map(
    ([, name, key, value]) => ({ name: name!, key: key!, value: value! }),
  );
  const { images, configMapGenerator: maps } = parse(text) as {
    images: { name: string; newTag: string }[];
    configMapGenerator: { name: string; envs: string[] }[];
  };
  const asked = new Set<string>();
  for (const { spec } of await templates()) {
    const [{ image, env, envFrom, volumeMounts }] = spec.containers;
    expect([image, envFrom]).toEqual([images[0]!.name, [{ configMapRef: { name: maps[0]!.name } }]]);
    for (const { value } of env) {
      const mount = volumeMounts.find(({ mountPath }) => value.startsWith(`${mountPath}/`))!;
      const { secret } = spec.volumes.find(({ name }) => name === mount.name)!;
      asked.add(`${secret!.secretName}: ${value.slice(mount.mountPath.length + 1)}`);
    }
    expect(volumeMounts.map(({ name }) => name)).toEqual(spec.volumes.map(({ name }) => name));
  }
  expect([...asked].toSorted()).toEqual(made.map(({ name, key }) => `${name}: ${key}`).toSorted());
  const login = (name: string) => /\/\/(\w+):/.exec(made.find((each) => each.name === name)!.value)![1];
  expect([login("engagement-owner"), login("engagement-server")]).toEqual([
    "engagement",
    "engagement_server",
  ]);
  expect(maps[0]!.envs).toEqual(["settings.env"]);
  expect(images.map(({ newTag }) => newTag)).toEqual([
    (JSON.parse(await read("package.json")) as { version: string }).version,
  ]);
});

test("Kubernetes: a server has time to start, and to be busy, before it is restarted; it is asked often whether it is ready", async () => {
  const [server] = (await templates()).filter(({ metadata }) => metadata.labels["part"] === "server");
  const { startupProbe, readinessProbe, livenessProbe } = server!.spec.containers[0];
  const waiting = loadConfig({}).migrationWaitMs / 1_000;
  expect(startupProbe!.periodSeconds * startupProbe!.failureThreshold).toBeGreaterThanOrEqual(waiting + 60);
  expect(livenessProbe!.periodSeconds * livenessProbe!.failureThreshold).toBeGreaterThanOrEqual(60);
  expect(livenessProbe!.timeoutSeconds).toBeGreaterThanOrEqual(5);
  expect(readinessProbe!.periodSeconds).toBeLessThanOrEqual(5);
  expect(readinessProbe!.timeoutSeconds).toBeGreaterThanOrEqual(3);
});

test("a new database is given the server's login, with its password and no right of its own", async () => {
  const dir = await mkdtemp(join(tmpdir(), "engagement-graph-login-"));
  try {
    const secret = 'it\'s $me "here"';
    await mkdir(join(dir, "bin"));
    await writeFile(join(dir, "server_password"), secret);
    // Says what it was given, and what it was asked.
    await writeFile(join(dir, "bin/psql"), `#!/bin/sh\nprintf '%s\\n' "$@"\ncat\n`);
    await chmod(join(dir, "bin/psql"), 0o755);
    const script = await read("docker/server-login.sh");
    const file = "/run/secrets/server_password";
    expect(script.split(file)).toHaveLength(2);
    await writeFile(join(dir, "login.sh"), script.replace(file, join(dir, "server_password")));
    const { stdout } = await promisify(execFile)("sh", [join(dir, "login.sh")], {
      env: {
        PATH: `${join(dir, "bin")}:${process.env["PATH"]}`,
        ...{ POSTGRES_USER: "engagement", POSTGRES_DB: "records" },
      },
    });
    expect(stdout.trimEnd().split("\n").toSorted()).toEqual(
      [
        "--set=ON_ERROR_STOP=1",
        `--set=password=${secret}`,
        "--username=engagement",
        "--dbname=records",
        "create role engagement_server login noinherit password :'password';",
      ].toSorted(),
    );
  } finally {
    await rm(dir, { recursive: true });
  }
});
