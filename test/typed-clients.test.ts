// docs/graphql.md, "Typed clients" and "Registered documents": the configuration and the recipes as they stand there.
import { globSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { codegen } from "@graphql-codegen/core";
import { preset } from "@graphql-codegen/client-preset";
import type { ClientPresetConfig } from "@graphql-codegen/client-preset";
import { buildSchema, parse } from "graphql";
import type { RunningServer } from "../server/main.ts";
import { startDemoService } from "./support/demo.ts";
import { ROOT, run } from "./support/process.ts";
import { startAnotherServer } from "./support/service.ts";

const text = await readFile(join(ROOT, "docs/graphql.md"), "utf8");
const [sections] = /## Typed clients[\s\S]*?\n## From a page/.exec(text)!;
const FILES = Object.fromEntries(
  [...sections.matchAll(/\n\*\*`([^`]+)`\*\*.*(?:\n.+)*\n\n```\w+\n([\s\S]*?)```/g)].map(
    ([, name, content]) => [name!, content!] as const,
  ),
);
const RECIPES = Object.keys(FILES).filter((name) => name.startsWith("src/with-"));

// What the generator's command would be told by the configuration; the command itself is large, and only reads files.
type Configuration = {
  schema: string;
  documents: string;
  generates: Record<
    string,
    { preset: string; presetConfig: ClientPresetConfig; config: Record<string, unknown> }
  >;
};

let dir: string;
let configuration: Configuration;
let service: Awaited<ReturnType<typeof startDemoService>>;
/** What the generator has written down, and nothing else, is answered here. */
let registered: RunningServer;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "typed-clients-"));
  await symlink(join(ROOT, "node_modules"), join(dir, "node_modules"));
  await symlink(join(ROOT, "schema.graphql"), join(dir, "schema.graphql"));
  await put("package.json", JSON.stringify({ type: "module" }));
  await put("tsconfig.json", JSON.stringify(COMPILER));
  await put(
    "cli.d.ts",
    'export type CodegenConfig = import("@graphql-codegen/plugin-helpers").Types.Config;',
  );
  for (const [name, content] of Object.entries(FILES)) await put(name, content);
  configuration = await read();
  for (const [name, content] of await generate(configuration)) await put(name, content);
  service = await startDemoService();
  registered = await startAnotherServer(service, {
    PERSISTED_DOCUMENTS: join(dir, "src/gql/persisted-documents.json"),
    PERSISTED_DOCUMENTS_ONLY: "true",
    RATE_LIMIT_PER_MINUTE: "1000000",
  });
});
afterAll(async () => {
  await registered.stop();
  await service.stop();
  await rm(dir, { recursive: true, force: true });
});

const COMPILER = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    erasableSyntaxOnly: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    target: "es2024",
    module: "nodenext",
    types: ["node"],
    // Those of the clients' own packages.
    skipLibCheck: true,
    paths: { "@graphql-codegen/cli": ["./cli.d.ts"] },
  },
  include: ["codegen.ts", "src/*.ts", "src/gql/graphql.ts"],
};

async function put(name: string, content: string): Promise<void> {
  await mkdir(dirname(join(dir, name)), { recursive: true });
  await writeFile(join(dir, name), content);
}

async function read(): Promise<Configuration> {
  const configuration = JSON.stringify(join(dir, "codegen.ts"));
  const { stdout } = await run(process.execPath, [
    ...["--input-type=module", "-e"],
    `import found from ${configuration}; console.log(JSON.stringify(found));`,
  ]);
  return JSON.parse(stdout) as Configuration;
}

/** The files that the generator writes, by their names. */
async function generate({ schema, documents, generates }: Configuration): Promise<[string, string][]> {
  const sdl = await readFile(join(dir, schema), "utf8");
  const operations = await Promise.all(
    globSync(documents, { cwd: dir }).map(async (location) => {
      const rawSDL = await readFile(join(dir, location), "utf8");
      return { location, rawSDL, document: parse(rawSDL) };
    }),
  );
  const [baseOutputDir, { preset: name, presetConfig, config }] = Object.entries(generates)[0]!;
  expect(name).toBe("client");
  const outputs = await preset.buildGeneratesSection({
    ...{ baseOutputDir, presetConfig, config, documents: operations, plugins: [], pluginMap: {} },
    ...{ schema: parse(sdl), schemaAst: buildSchema(sdl) },
  });
  return Promise.all(
    outputs.map(async (output) => [output.filename, await codegen(output)] as [string, string]),
  );
}

const compile = () =>
  run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "--project", dir]);

const start = (recipe: string, key = service.demoKey) =>
  run(process.execPath, [join(dir, recipe)], {
    SERVICE_URL: (recipe.includes("registered") ? registered : service).url,
    API_KEY: key,
  });

test("there are four recipes, and the types that they use have no any", async () => {
  expect(RECIPES).toEqual([
    "src/with-graphql-request.ts",
    "src/with-urql.ts",
    "src/with-apollo.ts",
    "src/with-registered-documents.ts",
  ]);
  const types = await readFile(join(dir, "src/gql/graphql.ts"), "utf8");
  expect(types).toContain("OpenNeedsQueryVariables");
  expect(types.replaceAll(/\/\*[\s\S]*?\*\//g, "")).not.toMatch(/\bany\b/);
});

test("the configuration and the recipes compile under strict", async () => {
  expect(await compile()).toEqual({ code: 0, stdout: "", stderr: "" });
});

test.each([
  ["a field that was not asked for", "need.needDescription", "need.needTitle", "needTitle"],
  ["a variable of another type", "{ first: 10 }", '{ first: "10" }', "'number'"],
  ["a time that is none of ours", "{ first: 10 }", "{ first: 10, createdSince: new Date() }", "'Date'"],
  ["what may be null", "needs?.nodes ?? []", "needs.nodes", "possibly 'null'"],
])("%s does not compile, in any of the recipes", async (_, right, wrong, named) => {
  for (const recipe of RECIPES) await put(recipe, FILES[recipe]!.replace(right, wrong));
  const { code, stdout } = await compile();
  for (const recipe of RECIPES) await put(recipe, FILES[recipe]!);
  expect(code).not.toBe(0);
  for (const recipe of RECIPES) {
    const [, told] = stdout.split(recipe.slice("src/".length));
    expect(told).toContain(named);
  }
});

test("an input that lacks what the schema requires does not compile", async () => {
  const [recipe] = RECIPES;
  await put(recipe!, FILES[recipe!]!.replace(/\n *accelerators: .*/, ""));
  const { stdout } = await compile();
  await put(recipe!, FILES[recipe!]!);
  expect(stdout).toContain("'accelerators'");
});

test("every scalar of the schema is mapped", async () => {
  const [output] = Object.values(configuration.generates);
  const sdl = await readFile(join(ROOT, "schema.graphql"), "utf8");
  const scalars = [...sdl.matchAll(/^scalar (\w+)/gm)].map(([, name]) => name);
  expect(Object.keys(output!.config["scalars"] as object)).toEqual(scalars);
});

test.each(RECIPES)("%s reads what is there", async (recipe) => {
  const { code, stdout, stderr } = await start(recipe);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const { rows } = await service.database.owner.query<{ line: string }>(
    `select concat_ws(' ', need_id, need_description) as line from app_public.needs where status = 'open'
     order by created_at desc, need_id desc limit 10`,
  );
  expect(rows.length).toBeGreaterThan(2);
  const lines = stdout.trimEnd().split("\n");
  expect(lines.filter((line) => !line.startsWith("declared"))).toEqual(rows.map(({ line }) => line));
  if (FILES[recipe]!.includes("DeclareNeed")) expect(lines[0]).toBe(`declared ${lines[1]!.split(" ")[0]}`);
});

test.each(RECIPES)("%s tells the code of a refusal", async (recipe) => {
  const { code, stdout } = await start(recipe, "ek_unknown");
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^invalid_api_key /) });
});
