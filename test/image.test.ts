// The image holds what its processes import.
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { expect, test } from "@jest/globals";
import { ROOT } from "./support/process.ts";

/** The files that the image and the compose file tell Node to run. */
async function entries(): Promise<string[]> {
  const texts = await Promise.all(
    ["Dockerfile", "docker-compose.yml"].map((file) => readFile(join(ROOT, file), "utf8")),
  );
  return texts.flatMap((text) => [...text.matchAll(/\[\W?node\W+([\w/]+\.ts)/g)].map(([, file]) => file!));
}

/** What is imported that is not ours, of files of ours. */
async function packages(files: readonly string[]): Promise<string[]> {
  const texts = await Promise.all(
    files.filter((file) => file.endsWith(".ts")).map((file) => readFile(join(ROOT, file), "utf8")),
  );
  const named = texts.flatMap((text) => [
    ...text.matchAll(/^(?:import|export)(?! type)[^;=(]*? from "((?:@[\w-]+\/)?[\w-]+)(?:\/[^"]*)?";$/gm),
  ]);
  return [...new Set(named.map(([, name]) => name!))];
}

/** Every file of ours that a file needs, itself included, from the root. */
async function reached(files: readonly string[], known = new Set<string>()): Promise<Set<string>> {
  for (const file of files) {
    if (known.has(file)) continue;
    known.add(file);
    if (!file.endsWith(".ts")) continue;
    const text = await readFile(join(ROOT, file), "utf8");
    const imports = [...text.matchAll(/(?:^import|^export|\bimport\()[^;]*?"(\.{1,2}\/[^"]+)"/gm)];
    await reached(
      imports.map(([, path]) => relative(ROOT, join(ROOT, dirname(file), path!))),
      known,
    );
  }
  return known;
}

test("what the server, the worker and the operator's tool import is let into the image", async () => {
  const allowed = (await readFile(join(ROOT, ".dockerignore"), "utf8"))
    .split("\n")
    .filter((line) => line.startsWith("!"))
    .map((line) => line.slice(1));
  const isAllowed = (file: string) =>
    allowed.some((pattern) =>
      pattern === "*.ts" ? /^[^/]+\.ts$/.test(file) : file === pattern || file.startsWith(`${pattern}/`),
    );
  const started = await entries();
  expect(started.length).toBeGreaterThanOrEqual(4);
  const needed = [...(await reached(started))];
  expect(needed.length).toBeGreaterThan(100);
  expect(needed.filter((file) => !isAllowed(file)).map((file) => `.dockerignore keeps ${file} out`)).toEqual(
    [],
  );
});

test("nothing is let into the image but what is listed, and of that no secret and nothing that a person keeps there", async () => {
  const lines = (await readFile(join(ROOT, ".dockerignore"), "utf8")).split("\n").filter(Boolean);
  expect(lines[0]).toBe("*");
  expect(lines.slice(1).filter((line) => !line.startsWith("!"))).toEqual([]);
  for (const kept of ["secrets", "imports", ".env", ".data", ".git", "node_modules", "test"])
    expect(lines).not.toContain(`!${kept}`);
  const image = await readFile(join(ROOT, "Dockerfile"), "utf8");
  for (const [, files] of image.matchAll(/^COPY (?!--from)(.+) \.\/$/gm))
    for (const file of files!.split(" ")) expect(lines).toContain(`!${file}`);
});

test("what the image's processes import is installed in it, by the lock alone and without a package's own scripts", async () => {
  const { dependencies, scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
    scripts: Record<string, string>;
  };
  const imported = await packages([...(await reached(await entries()))]);
  expect(imported.length).toBeGreaterThan(20);
  expect(imported.filter((name) => dependencies[name] === undefined)).toEqual([]);
  const image = await readFile(join(ROOT, "Dockerfile"), "utf8");
  expect(image).toContain("\nRUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund\n");
  const releases = [...image.matchAll(/^FROM (\S+)/gm)].map(([, release]) => release);
  expect(releases).toEqual([releases[0], releases[0]]);
  expect(image).toContain("\nCOPY --from=dependencies /app/node_modules node_modules\n");
  expect(image.match(/^WORKDIR .*$/gm)).toEqual(["WORKDIR /app", "WORKDIR /app"]);
  // The same releases of Node as npm brings, and the same file as `npm run server`.
  expect(image).toContain(`FROM node:${dependencies["node"]!.replace("^", "")}-`);
  expect(scripts["server"]).toBe("exec node server/main.ts || node server/main.ts");
  expect(image.trimEnd().split("\n").at(-1)).toBe('CMD ["node", "server/main.ts"]');
});
