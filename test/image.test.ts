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
