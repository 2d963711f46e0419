// Every error is registered once: those of the rules in db/rules/errors.sql, the server's own in server/errors.ts.
// docs/errors.md explains each, and each is raised somewhere.
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { errors as raisedByRules } from "../db/catalog.ts";
import { ERRORS } from "../server/errors.ts";
import { allRoutes } from "../server/resources/index.ts";
import { createTestDatabase } from "./support/database.ts";
import { ROOT } from "./support/process.ts";

async function textOf(pattern: string, except: string): Promise<string> {
  const files = globSync(pattern, { cwd: ROOT }).filter((file) => file !== except);
  return (await Promise.all(files.map((file) => readFile(join(ROOT, file), "utf8")))).join("\n");
}

test("docs/errors.md explains every registered error, with its status, and no other", async () => {
  const page = await readFile(join(ROOT, "docs/errors.md"), "utf8");
  const explained = [...page.matchAll(/^\| (\d{3}) +\| `([a-z_]+)` +\| (\S.*?) +\| (\S.*?) +\|$/gm)].map(
    ([, status, code]) => `${status} ${code}`,
  );
  const registered = Object.entries(ERRORS).map(([code, [status]]) => `${status} ${code}`);
  expect(explained.toSorted()).toEqual(registered.toSorted());
});

/** How well a sentence fits each of some texts: by the words that they share, of which rare ones count for more. */
function fit(texts: ReadonlyMap<string, string>) {
  const wordsOf = (text: string) =>
    new Set(
      (
        text
          .toLowerCase()
          .replaceAll(/[`']/g, "")
          .match(/[a-z]+/g) ?? []
      ).map((word) => word.replace(/(ies|s|ed|ing)$/, "").slice(0, 6)),
    );
  const described = new Map([...texts].map(([code, text]) => [code, wordsOf(text)]));
  const inHowMany = new Map<string, number>();
  for (const word of [...described.values()].flatMap((words) => [...words])) {
    inHowMany.set(word, (inHowMany.get(word) ?? 0) + 1);
  }
  const weigh = (words: Iterable<string>) =>
    [...words].reduce((sum, word) => sum + Math.log(described.size / inHowMany.get(word)!) ** 2, 0);
  return (sentence: string, code: string) => {
    const words = described.get(code);
    if (!words) throw new Error(`docs/errors.md does not explain ${code}`);
    return weigh([...wordsOf(sentence)].filter((word) => words.has(word))) / Math.sqrt(weigh(words));
  };
}

test("the sentence of each error is about what docs/errors.md says of its code: no two fit better the other way round", async () => {
  const database = await createTestDatabase();
  const { rows } = await database.owner.query<{ code: string; sentence: string }>(
    "select code, sentence from app_private.errors()",
  );
  await database.drop();
  const sentences = {
    ...Object.fromEntries(Object.entries(ERRORS).map(([code, [, sentence]]) => [code, sentence])),
    ...Object.fromEntries(rows.map(({ code, sentence }) => [code, sentence])),
  };
  const page = await readFile(join(ROOT, "docs/errors.md"), "utf8");
  const explained = [...page.matchAll(/^\| \d{3} +\| `([a-z_]+)` +\| (\S.*?) +\|$/gm)];
  const fits = fit(
    new Map(explained.map(([, code, text]) => [code!, `${code!.replaceAll("_", " ")} ${text}`])),
  );
  const swapped = Object.entries(sentences).flatMap(([one, ofOne]) =>
    Object.entries(sentences)
      .filter(([other, ofOther]) => {
        const asTheyAre = fits(ofOne, one) + fits(ofOther, other);
        return one < other && asTheyAre <= fits(ofOne, other) + fits(ofOther, one);
      })
      .map(([other]) => `${one} and ${other}`),
  );
  expect(swapped).toEqual([]);
  expect(new Set(Object.values(sentences)).size).toBe(Object.keys(ERRORS).length);
});

test("the rules raise every error of db/rules/errors.sql, and no other", async () => {
  const rules = await textOf("db/rules/*.sql", "db/rules/errors.sql");
  const raised = new Set(
    [
      // What app_private.authority answers, authorize raises.
      ...rules.matchAll(/\b(?:app_private\.refuse\(\s*(?:code\s*=>\s*)?|refusal := )'([a-z_]+)'/g),
    ].map(([, code]) => code!),
  );
  expect([...raised].toSorted()).toEqual(Object.keys(raisedByRules).toSorted());
});

test("the server raises every error of its own", async () => {
  const source = await textOf("server/**/*.ts", "server/errors.ts");
  const own = await readFile(join(ROOT, "server/errors.ts"), "utf8");
  const raising = `${source}\n${own.slice(own.indexOf("export function apiErrorFrom"))}`;
  const never = Object.keys(ERRORS).filter(
    (code) => !(code in raisedByRules) && !raising.includes(`"${code}"`),
  );
  expect(never).toEqual([]);
});

test("what the comments of functions and the documents say of errors is registered, with its status", async () => {
  const texts = [
    await textOf("db/rules/*.sql", "db/rules/errors.sql"),
    await textOf("docs/*.md", "docs/errors.md"),
  ];
  const named = texts.flatMap((text) => [
    // "Errors: 400 validation_failed, 403 membership_required, insufficient_role." over several literals of SQL
    ...[...text.matchAll(/Errors: ([^;]*?)\.'/g)].flatMap(([, list]) =>
      errorsIn(list!.replace(/'\s*'/g, "")),
    ),
    // 409 `last_admin`
    ...[...text.matchAll(/\b([45]\d\d) `([a-z_]+)`/g)].map(([, status, code]) => `${status} ${code}`),
  ]);
  expect(named.length).toBeGreaterThan(50);
  const registered = new Set(Object.entries(ERRORS).map(([code, [status]]) => `${status} ${code}`));
  expect([...new Set(named)].filter((error) => !registered.has(error))).toEqual([]);
});

/** "403 a, b, 404 c" as 403 a, 403 b, 404 c. */
function errorsIn(list: string): string[] {
  let status = "";
  return list.split(/,\s*/).map((part) => {
    const [, given, code] = /^\s*(?:(\d{3}) )?(\w+)\s*$/.exec(part) ?? [];
    status = given ?? status;
    return `${status} ${code}`;
  });
}

test("a function of the rules and the route that calls it name the same errors", async () => {
  const rules = await textOf("db/rules/*.sql", "");
  const routes = allRoutes({} as Parameters<typeof allRoutes>[0]);
  // Said by the framework of the one or the other door, whatever the route.
  const everywhere = ["validation_failed", "insufficient_scope", "idempotency_key_reused"];
  const differing = routes.flatMap(({ operationId, errors, statement }) => {
    const text = typeof statement === "function" ? statement({}) : (statement ?? "");
    const called = /app_public\.(\w+)\(/.exec(text)?.[1];
    const comment = new RegExp(`comment on function app_public\\.${called} is([^;]*);`).exec(rules)?.[1];
    const list = /Errors: ([^;]*?)\.'/.exec(comment ?? "")?.[1];
    if (called === undefined || list === undefined) return [];
    const codes = (names: readonly string[]) =>
      [...names]
        .filter((code) => !everywhere.includes(code))
        .toSorted()
        .join(", ");
    const inSql = codes(errorsIn(list.replace(/'\s*'/g, "")).map((error) => error.slice(4)));
    return inSql === codes(errors) ? [] : [`${operationId}: ${codes(errors)}; ${called} in SQL: ${inSql}`];
  });
  expect(differing).toEqual([]);
});

test("a route names what is answered where there is nothing, or nothing any more, and what a repetition may get", () => {
  const routes = allRoutes({} as Parameters<typeof allRoutes>[0]);
  const lacking = routes.flatMap(({ operationId, method, path, errors, missing, idempotent }) => {
    const readsOne = method === "get" && path.includes("{");
    const wanted = [
      ...(missing ? [missing] : []),
      ...(idempotent ? ["idempotency_key_reused"] : []),
      ...(path.endsWith("/changes") ? ["changes_expired"] : []),
    ];
    return [
      ...wanted.filter((code) => !errors.includes(code as (typeof errors)[number])),
      ...(readsOne && !errors.some((code) => code.endsWith("_not_found")) ? ["what is not found"] : []),
    ].map((code) => `${operationId} does not name ${code}`);
  });
  expect(lacking).toEqual([]);
});
