// How stores that are Java programs are fetched, started and ended for tests and benchmarks, without a Java: programs of Node
// stand in for Java and Maven.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { startJavaServer } from "../graph/java/server.ts";
import { eventually } from "./support/eventually.ts";
import { freePort, ROOT } from "./support/process.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "engagement-java-servers-"));
  await mkdir(join(dir, "bin"));
});
/** What a test has started, and would outlive it if it fails. */
const started: number[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const pid of started.splice(0)) if (isRunning(pid)) process.kill(pid, "SIGKILL");
  await rm(dir, { recursive: true });
});

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const noted = async (name: string) => JSON.parse(await readFile(join(dir, name), "utf8")) as unknown;

/** A server that is not ready for the first two that ask, and notes how it ended. */
const SERVER = `
  import { createServer } from "node:http";
  import { writeFileSync } from "node:fs";
  const [port, ended] = process.argv.slice(1);
  let asked = 0;
  createServer(({ headers }, response) => {
    asked += 1;
    if (asked === 3) writeFileSync(ended, JSON.stringify({ asked, more: process.env.MORE, path: process.env.PATH, sent: headers.sent }));
    response.writeHead(asked > 2 ? 200 : 503).end();
  }).listen(Number(port), "127.0.0.1");
  process.on("SIGTERM", () => {
    writeFileSync(ended, JSON.stringify("SIGTERM"));
    if (process.env.MORE !== "deaf") process.exit();
  });
`;

async function serve(env: Record<string, string> = {}) {
  const at = await freePort();
  const url = `http://127.0.0.1:${at}/`;
  const server = await startJavaServer({
    name: "A server",
    command: process.execPath,
    args: ["--input-type=module", "--eval", SERVER, String(at), join(dir, "note")],
    env,
    probe: new Request(url, { headers: { sent: "along" } }),
  });
  started.push(server.pid);
  return { ...server, url };
}

describe("a server", () => {
  test("is there when it answers with success, has what it is given besides, and ends cleanly", async () => {
    const server = await serve({ MORE: "more" });
    const { PATH: path } = process.env;
    expect(await noted("note")).toEqual({ asked: 3, more: "more", path, sent: "along" });
    expect(isRunning(server.pid)).toBe(true);
    await server.stop();
    expect(isRunning(server.pid)).toBe(false);
    expect(await noted("note")).toBe("SIGTERM");
  });

  test("that is killed is not asked", async () => {
    const server = await serve();
    await server.kill();
    expect(isRunning(server.pid)).toBe(false);
    expect(await noted("note")).toMatchObject({ asked: 3 });
  });

  test("that does not end is killed, but has fifteen seconds", async () => {
    const server = await serve({ MORE: "deaf" });
    jest.useFakeTimers({ doNotFake: ["setImmediate", "performance", "nextTick", "queueMicrotask", "Date"] });
    try {
      const stopped = server.stop();
      await eventually(async () => expect(await noted("note")).toBe("SIGTERM"));
      jest.advanceTimersByTime(14_999);
      expect((await fetch(server.url)).ok).toBe(true);
      jest.advanceTimersByTime(1);
      await stopped;
    } finally {
      jest.useRealTimers();
      await server.kill();
    }
    expect(isRunning(server.pid)).toBe(false);
  });

  test("that ends before it answers is an error with its last words", async () => {
    const words = `process.stdout.write("x".repeat(5_000)); process.stderr.write("no memory\\n"); process.exitCode = 1;`;
    const starting = startJavaServer({
      name: "A server",
      command: process.execPath,
      args: ["--eval", words],
      probe: new Request(`http://127.0.0.1:${await freePort()}/`),
    });
    const { message } = await starting.then(
      () => new Error("it started"),
      (error: unknown) => error as Error,
    );
    expect(message).toMatch(/^A server did not start:\nx+/);
    expect(message).toContain("no memory\n");
    expect(message.length).toBe("A server did not start:\n".length + 4_000);
  });

  test("does not outlive whoever started it", async () => {
    const at = await freePort();
    const script = `
      import { startJavaServer } from ${JSON.stringify(join(ROOT, "graph/java/server.ts"))};
      const args = ["--input-type=module", "--eval", ${JSON.stringify(SERVER)}, "${at}", ${JSON.stringify(join(dir, "note"))}];
      const probe = new Request("http://127.0.0.1:${at}/");
      const { pid } = await startJavaServer({ name: "A server", command: process.execPath, args, probe });
      process.stdout.write(String(pid), () => process.exit());
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
    started.push(Number(stdout));
    expect(Number(stdout)).toBeGreaterThan(0);
    await eventually(() => expect(isRunning(Number(stdout))).toBe(false));
  });
});

/** Makes a program of this name that runs some JavaScript, with its arguments in `given`. */
async function program(name: string, script: string): Promise<void> {
  const file = join(dir, `${name}.mjs`);
  await writeFile(
    file,
    `import { mkdirSync, writeFileSync } from "node:fs";
     import { createServer } from "node:http";
     import { dirname } from "node:path";
     const given = process.argv.slice(2);
     ${script}`,
  );
  await writeFile(join(dir, "bin", name), `#!/bin/sh\nexec '${process.execPath}' '${file}' "$@"\n`);
  await chmod(join(dir, "bin", name), 0o755);
}

/** Runs some JavaScript in a process that finds nothing but these programs, and returns what it prints as JSON. */
async function run(script: string, env: Record<string, string> = {}): Promise<unknown> {
  const imports = `
    import { fetchArtifact } from ${JSON.stringify(join(ROOT, "graph/java/maven.ts"))};
    import { launchFuseki } from ${JSON.stringify(join(ROOT, "graph/fuseki/launch.ts"))};
    import { launchRdf4j } from ${JSON.stringify(join(ROOT, "graph/rdf4j/launch.ts"))};
    const work = async () => { ${script} };
    const result = await work().catch(({ name, message }) => ({ name, message }));
    process.stdout.write(JSON.stringify(result));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", imports], {
    env: { PATH: join(dir, "bin"), HOME: dir, ...env },
    // It ends with the last server that it has started.
    timeout: 240_000,
  });
  return JSON.parse(stdout);
}

describe("what Maven Central has", () => {
  const FETCH = `return fetchArtifact({ group: "org.example.a", artifact: "b", version: "1.2", packaging: "war" });`;
  const place = (repository: string) => join(dir, repository, "org/example/a/b/1.2/b-1.2.war");
  const NOT_AVAILABLE = "JavaServerNotAvailable";

  test("is taken from the cache, without Maven, if there is a Java to run it with", async () => {
    const file = place(".m2/repository");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, "");
    expect(await run(FETCH)).toEqual({ name: NOT_AVAILABLE, message: "java is not on this machine." });
    await program("java", "");
    expect(await run(FETCH)).toBe(file);
    // A jar is another file.
    const jar = FETCH.replace(`, packaging: "war"`, "");
    expect(await run(jar)).toEqual({ name: NOT_AVAILABLE, message: "mvn is not on this machine." });
    await writeFile(file.replace(/war$/, "jar"), "");
    expect(await run(jar)).toBe(file.replace(/war$/, "jar"));
  });

  test("is fetched by its coordinates alone, into the cache that is named", async () => {
    await program("java", "");
    const file = place("elsewhere");
    await program(
      "mvn",
      `if (given[0] !== "--version") {
         writeFileSync(${JSON.stringify(join(dir, "mvn"))}, JSON.stringify(given));
         mkdirSync(${JSON.stringify(dirname(file))}, { recursive: true });
         writeFileSync(${JSON.stringify(file)}, "");
       }`,
    );
    const named = { MAVEN_REPOSITORY: join(dir, "elsewhere") };
    expect(await run(FETCH, named)).toBe(file);
    const given = [
      ...[
        "-q",
        "-B",
        expect.stringMatching(/^org\.apache\.maven\.plugins:maven-dependency-plugin:[\d.]+:get$/),
      ],
      ...["-Dartifact=org.example.a:b:1.2:war", "-Dtransitive=false"],
    ];
    expect(await noted("mvn")).toEqual([...given, `-Dmaven.repo.local=${join(dir, "elsewhere")}`]);
    // Maven has put it into the cache that was named, and nobody looks there now.
    const missing = place(".m2/repository");
    const message = `Maven fetched b 1.2, but it is not at ${missing}.`;
    expect(await run(FETCH)).toEqual({ name: NOT_AVAILABLE, message });
    expect(await noted("mvn")).toEqual(given);
  });

  test("that cannot be fetched is not available", async () => {
    await program("java", "");
    await program("mvn", `process.exit(given[0] === "--version" ? 0 : 1);`);
    expect(await run(FETCH)).toEqual({ name: NOT_AVAILABLE, message: "Maven could not fetch b 1.2." });
  });
});

describe("launched", () => {
  /** A Java that notes what it is given, and what it is sent, and answers what it is told to. */
  async function java(status: number): Promise<void> {
    await program(
      "java",
      `if (given[0] === "-version") process.exit();
       const option = given.find((each) => each.startsWith("--port="))?.slice(7) ?? given[given.indexOf("--port") + 1];
       writeFileSync(${JSON.stringify(join(dir, "given"))}, JSON.stringify(given));
       // At another port it would be waited for.
       if (process.env.PORT_ASKED && process.env.PORT_ASKED !== option) process.exit(1);
       const sent = [];
       createServer(async (request, response) => {
         const chunks = [];
         for await (const chunk of request) chunks.push(chunk);
         const { method, url, headers } = request;
         sent.push({ method, url, type: headers["content-type"], authorization: headers.authorization, body: String(Buffer.concat(chunks)) });
         writeFileSync(${JSON.stringify(join(dir, "sent"))}, JSON.stringify(sent));
         response.writeHead(method === "PUT" ? ${status} : 200).end("as told");
       }).listen(Number(option), "127.0.0.1");`,
    );
    for (const [folder, name] of [
      ["org/eclipse/jetty/jetty-runner", "jar"],
      ["org/eclipse/rdf4j/rdf4j-http-server", "war"],
      ["org/apache/jena/jena-fuseki-server", "jar"],
    ] as const) {
      const source = await readFile(
        join(ROOT, "graph", folder.includes("jena") ? "fuseki" : "rdf4j", "fetch.ts"),
        "utf8",
      );
      const artifact = folder.split("/").at(-1)!;
      const version = new RegExp(`artifact: "${artifact}",[^}]*?version: "([^"]+)"`).exec(source)![1]!;
      const path = join(dir, ".m2/repository", folder, version);
      await mkdir(path, { recursive: true });
      await writeFile(join(path, `${artifact}-${version}.${name}`), "");
    }
  }
  const system = { PATH: "" };
  beforeEach(() => {
    system.PATH = `${join(dir, "bin")}:/usr/bin:/bin`;
  });
  type Sent = { method: string; url: string; type?: string; authorization?: string; body: string }[];

  test.each([204, 409])("RDF4J has our repository, whether it is new or was there (%i)", async (status) => {
    await java(status);
    const data = join(dir, "data");
    const launch = (more: object) =>
      run(
        `const server = await launchRdf4j(${JSON.stringify({ dir: data, ...more })}); await server.stop(); return server.urls;`,
        system,
      );
    const urls = (await launch({ queryTimeoutMs: 1_001, javaOptions: ["-Da=b"] })) as Record<string, string>;
    const given = (await noted("given")) as string[];
    const at = given[given.indexOf("--port") + 1]!;
    const repository = `http://127.0.0.1:${at}/rdf4j-server/repositories/engagement`;
    expect(urls).toEqual({
      queryUrl: `${repository}?timeout=2`,
      updateUrl: `${repository}/statements`,
      graphStoreUrl: `${repository}/rdf-graphs/service`,
    });
    expect(given).toEqual([
      ...["-Xss16m", "-Xmx1g", "-Da=b", `-Djava.io.tmpdir=${data}/tmp`],
      ...[
        `-Dorg.eclipse.rdf4j.appdata.basedir=${data}`,
        "-jar",
        expect.stringMatching(/jetty-runner-[^/]*\.jar$/),
      ],
      ...["--host", "127.0.0.1", "--port", at, "--path", "/rdf4j-server"],
      expect.stringMatching(/rdf4j-http-server-[^/]*\.war$/),
    ]);
    const sent = (await noted("sent")) as Sent;
    expect(sent.map(({ method, url, type }) => [method, url, type])).toEqual([
      ["GET", "/rdf4j-server/protocol", undefined],
      ["PUT", "/rdf4j-server/repositories/engagement", "text/turtle"],
    ]);
    expect(sent[1]!.body).toBe(await readFile(join(ROOT, "graph/rdf4j/repository.ttl"), "utf8"));
    expect(((await launch({})) as Record<string, string>)["queryUrl"]).toMatch(/\?timeout=30$/);
  });

  test("RDF4J that makes no repository is an error, and does not go on running", async () => {
    await java(500);
    const launched = await run(`return launchRdf4j({ dir: ${JSON.stringify(dir)} });`, system);
    expect(launched).toEqual({ name: "Error", message: "RDF4J made no repository: 500 as told" });
  });

  test("Fuseki is this machine's alone, and asked for by its user whether it is there", async () => {
    await java(204);
    const launch = (more: { port?: number }) =>
      run(
        `const { stop, kill, pid, ...server } = await launchFuseki(${JSON.stringify({ dir: join(dir, "data"), ...more })}); await stop(); return server;`,
        { ...system, ...(more.port !== undefined && { PORT_ASKED: String(more.port) }) },
      );
    const at = await freePort();
    const asked = { port: at, queryTimeoutMs: 7, password: "a b", javaOptions: "-Xmx2g -Da=b" };
    const url = `http://localhost:${at}/engagement`;
    expect(await launch(asked)).toEqual({ url, port: at, user: "engagement", password: "a b" });
    expect(await noted("given")).toEqual(
      expect.arrayContaining(["-Xmx2g", "-Da=b", `--port=${at}`, "--localhost", "--timeout=7"]),
    );
    const basic = (password: string) => `Basic ${Buffer.from(`engagement:${password}`).toString("base64")}`;
    expect(
      ((await noted("sent")) as Sent).map((each) => [each.method, each.url, each.authorization]),
    ).toEqual([["GET", "/$/ping", basic("a b")]]);
    // Among what is its own, in the folder that was named.
    const hash = createHash("md5").update("a b").digest("hex");
    expect(await readFile(join(dir, "data/passwd"), "utf8")).toBe(`engagement: MD5:${hash}\n`);
    const usual = (await launch({})) as { port: number };
    expect(usual).toMatchObject({ user: "engagement", password: "engagement" });
    expect(await noted("given")).toEqual(
      expect.arrayContaining(["-Xmx1g", `--port=${usual.port}`, "--localhost", "--timeout=3600000"]),
    );
    expect(((await noted("sent")) as Sent)[0]!.authorization).toBe(basic("engagement"));
  });
});
