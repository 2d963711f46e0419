// Libraries in the browser, without a build: their modules are served as they are installed, and an import
// map tells where the packages are that they import by name.
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import type { Router } from "express";
import { sendAnswer } from "../rest/answer.ts";
import type { Packed } from "../rest/answer.ts";

/** The packages that scripts of assets/ import by name. */
const IMPORTED = [
  "@codemirror/commands",
  "@codemirror/language",
  "@codemirror/state",
  "@codemirror/view",
  "@lezer/highlight",
  "codemirror-lang-sparql",
];
const FOLDER = "/assets/modules";

/** The file of each package that is needed, by the package's name. */
const files = new Map<string, string>();
for (const name of IMPORTED) add(name, import.meta.filename);

/** The import map, as text. */
export const IMPORTS = JSON.stringify({
  imports: Object.fromEntries([...files.keys()].map((name) => [name, `${FOLDER}/${name}.js`])),
});

export function serveModules(router: Router): void {
  for (const [name, file] of files) {
    const packed: Packed = new Map();
    router.get(`${FOLDER}/${name}.js`, async (request, response) => {
      response.type("text/javascript");
      await sendAnswer(request, response, await readFile(file, "utf8"), { packed });
    });
  }
}

/** @param from the file that imports it */
function add(name: string, from: string): void {
  if (files.has(name)) return;
  const description = findPackageJSON(name, from);
  if (description === undefined) throw new Error(`${name} is not installed`);
  const { exports, dependencies = {} } = JSON.parse(readFileSync(description, "utf8")) as {
    exports: { import: string };
    dependencies?: Record<string, string>;
  };
  files.set(name, join(dirname(description), exports.import));
  for (const dependency of Object.keys(dependencies)) add(dependency, description);
}
