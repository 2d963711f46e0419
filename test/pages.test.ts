// What all pages have in common: the frame, who is signed in, and where its links lead for whom.
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Request, Response } from "express";
import type { Database } from "../server/database.ts";
import { html } from "hono/html";
import { ApiError } from "../server/errors.ts";
import { layout } from "../server/pages/layout.ts";
import { visitOf } from "../server/pages/page.ts";
import type { Visit } from "../server/pages/page.ts";
import { attempt } from "../server/pages/parts/attempt.ts";
import { begin } from "../server/pages/parts/text.ts";
import { ClaimQueue } from "./support/claim-queue.ts";
import * as m from "./support/membership.ts";
import { ROOT } from "./support/process.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { Visitor } from "./support/visitor.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ world: false });
  await m.addPlatformPeople(service.database.owner);
});
afterAll(() => service.stop());

const titleOf = (text: string) => /<h1>([^<]*)/.exec(text)?.[1];
const linksOf = (text: string) => {
  const [header = ""] = /<nav aria-label="Pages">.*?<\/nav>/s.exec(text) ?? [];
  return [...header.matchAll(/<a[^>]*>([^<]*)/g)].map(([, label]) => label);
};

test("the header leads to what there is for whoever is signed in", async () => {
  const org = await m.addOrganization(service.database.owner, { head: "org_admin", reader: "org_member" });
  const everybody = ["Overview", "Organizations", "Search", "REST", "GraphQL", "SPARQL"];
  const reviewer = ["Overview", "Organizations", "Search", "Claims", "REST", "GraphQL", "SPARQL"];
  const support = ["Overview", "Organizations", "Search", "Claims", "People", "REST", "GraphQL", "SPARQL"];
  const operator = [
    "Overview",
    "Organizations",
    "Search",
    "Claims",
    "People",
    "Graph",
    "REST",
    "GraphQL",
    "SPARQL",
  ];
  expect(linksOf((await new Visitor(service).open("/")).text)).toEqual([
    "Overview",
    "REST",
    "GraphQL",
    "SPARQL",
  ]);
  for (const [email, expected] of [
    [m.platformAdmin, operator],
    [m.support, support],
    [`head@${org.domain}`, reviewer],
    [`reader@${org.domain}`, everybody],
    ["nobody@elsewhere.example", everybody],
  ] as const) {
    const { text } = await (await new Visitor(service).signIn(email)).open("/");
    expect([email, linksOf(text)]).toEqual([email, expected]);
    expect(text).toContain(`<bdi>${email}</bdi>`);
  }
});

test("the header says where one is, also below what it leads to", async () => {
  const org = await m.addOrganization(service.database.owner);
  const visitor = await new Visitor(service).signIn(m.platformAdmin);
  for (const [path, label] of [
    ["/", "Overview"],
    ["/organizations", "Organizations"],
    [`/organizations/${encodeURIComponent(org.uri)}`, "Organizations"],
    ["/admin/users?q=admin", "People"],
    ["/sparql", "SPARQL"],
  ] as const) {
    const { text } = await visitor.open(path);
    const here = [...text.matchAll(/aria-current="page">([^<]*)/g)].map(([, name]) => name);
    expect([path, here]).toEqual([path, [label]]);
  }
});

test("a page that is opened from elsewhere, as from a mail, knows who is signed in", async () => {
  const visitor = await new Visitor(service).signIn(m.support);
  const { status, text } = await visitor.open("/", { headers: { "sec-fetch-site": "cross-site" } });
  expect([status, text.includes(m.support)]).toEqual([200, true]);
  const called = await visitor.open("/v0/needs", { headers: { "sec-fetch-site": "cross-site" } });
  expect(called.status).toBe(403);
});

test("a browser is shown a page where there is nothing, and a program is told so in JSON", async () => {
  const browser = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
  const visitor = await new Visitor(service).signIn(m.support);
  const there = await visitor.open("/nowhere/to/be?seen=1", { headers: browser });
  expect([there.status, titleOf(there.text)]).toEqual([404, "There is nothing here"]);
  expect(there.text).toContain(m.support);
  // Whoever keeps the page gives it to no program.
  expect(there.headers.get("vary")?.toLowerCase().split(/, */)).toContain("accept");
  const headed = await new Visitor(service).open("/nowhere", { headers: browser });
  expect([headed.status, titleOf(headed.text)]).toEqual([404, "There is nothing here"]);
  for (const [path, headers] of [
    ["/nowhere", {}],
    ["/nowhere", { accept: "*/*" }],
    ["/nowhere", { accept: "application/json" }],
    ["/v0/nowhere", browser],
  ] as const) {
    const { status, text } = await visitor.open(path, { headers });
    expect([status, (JSON.parse(text) as { error: string }).error]).toEqual([404, "not_found"]);
  }
});

test.each([
  ["20,000 characters", (length: number) => `x=${"y".repeat(length)}`, 20_000 - "/search?x=".length],
  ["1,000 parameters", (count: number) => Array.from({ length: count }, () => "x").join("&"), 1_000],
])("the address of a page has at most %s, for each of its links has them too", async (_, query, most) => {
  const visitor = await new Visitor(service).signIn("long@pages.example");
  const status = async (size: number) => (await visitor.open(`/search?${query(size)}`)).status;
  expect([await status(most), await status(most + 1)]).toEqual([200, 431]);
});

test("each page lets in nothing from elsewhere, is in no other page, and says where its forms come from", async () => {
  const visitor = await new Visitor(service).signIn(m.platformAdmin);
  for (const path of ["/", "/sign-in", "/organizations", "/admin/claims", "/nowhere"]) {
    const { headers } = await visitor.open(path, { headers: { accept: "text/html" } });
    expect([path, headers.get("content-security-policy"), headers.get("referrer-policy")]).toEqual([
      path,
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      // With no-referrer a browser says of a form that it comes from nowhere.
      "same-origin",
    ]);
  }
});

test("what a page shows is read where reads go, and what its forms ask for is written", async () => {
  const asked: string[] = [];
  const answers = (name: string) => () => {
    asked.push(name);
    return Promise.resolve("1");
  };
  const database = { read: answers("read"), answer: answers("answer") } as unknown as Database;
  const response = { locals: { visitor: { session: "s", identity: {} } } } as unknown as Response;
  for (const method of ["GET", "HEAD", "POST"])
    await visitOf({ method, query: {}, params: {} } as Request, response, database).ask("select 1");
  expect(asked).toEqual(["read", "read", "answer"]);
});

test("what a form is refused is said on its page; what has failed or ended is not for that page to say", async () => {
  const again = (refusal: ApiError) => Promise.resolve({ title: refusal.code, content: html`` });
  const attempted = (thrown: Error) =>
    attempt({ address: "/x?q=1" } as Visit, () => Promise.reject(thrown), again);
  const refused = await attempted(new ApiError("last_admin"));
  expect(refused).toMatchObject({ title: "last_admin", status: 409 });
  for (const error of [new ApiError("invalid_session"), new ApiError("database_unavailable"), new Error("x")])
    await expect(attempted(error)).rejects.toBe(error);
  const done = attempt({ address: "/x?q=1" } as Visit, () => Promise.resolve("grant"), again);
  expect(await done).toBe("/x?q=1&done=grant#outcome");
});

test("of a text its first line is shown, by whole characters, and that there is more", () => {
  const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}";
  for (const [text, shown] of [
    ["as it is", "as it is"],
    ["exactly te", "exactly te"],
    ["more than that", "more than…"],
    ["one\ntwo", "one…"],
    ["one\r\ntwo", "one…"],
    ["one\rtwo", "one…"],
    [family.repeat(10), family.repeat(10)],
    [family.repeat(11), `${family.repeat(10)}…`],
  ] as const)
    expect([text, begin(text, 10)]).toEqual([text, shown]);
});

test("a tab says what it shows before the service, in no more than there is room for", async () => {
  const shown = { subject: "s".repeat(200), title: "t".repeat(121), content: html`` };
  const text = String(await layout(shown, { address: "/", visitor: undefined }));
  expect(/<title>(.*)<\/title>/.exec(text)?.[1]).toBe(
    `${"s".repeat(120)}… · ${"t".repeat(120)}… · Engagement graph`,
  );
});

test("a day is that of UTC wherever the service runs", () => {
  const script = `const { dayOf } = await import("${ROOT}/server/pages/parts/time.ts");
    console.log(dayOf("2026-01-01T00:30:00Z"), dayOf("2026-01-01T23:30:00Z"))`;
  for (const TZ of ["Pacific/Kiritimati", "Pacific/Pago_Pago"]) {
    const said = execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
      env: { ...process.env, NODE_OPTIONS: "", TZ },
      encoding: "utf8",
    });
    expect([TZ, said]).toEqual([TZ, "1 Jan 2026 1 Jan 2026\n"]);
  }
});

test("a session that is over is nobody's, and an API key is no session", async () => {
  const visitor = await new Visitor(service).signIn(m.support);
  for (const name of visitor.cookies.keys()) visitor.cookies.set(name, "a".repeat(43));
  const { status, text } = await visitor.open("/");
  expect([status, /href="\/sign-in\?returnTo=%2F"/.test(text)]).toEqual([200, true]);
  const headers = { authorization: `Bearer ${service.keys.review}` };
  expect(linksOf((await new Visitor(service).open("/", { headers })).text)).not.toContain("Claims");
});

test("whatever is searched for, there is a page for it", async () => {
  const visitor = await new Visitor(service).signIn(m.platformAdmin);
  // A character of two halves, of which there is room for one.
  const words = [
    "a\0b",
    "%",
    "\\",
    "\u200b",
    ...[100, 200, 2_048].map((length) => `${"a".repeat(length - 1)}\u{1f30d}`),
  ];
  for (const path of ["/admin/claims", "/admin/users", "/organizations", "/search"])
    for (const q of words) {
      const { status } = await visitor.open(`${path}?${new URLSearchParams({ q }).toString()}`);
      expect([path, q, status]).toEqual([path, q, 200]);
    }
});

test("a question mark in the query is one of what is searched for", async () => {
  const visitor = await new Visitor(service).signIn(m.platformAdmin);
  const { text } = await visitor.open("/admin/users?page=2&q=who?platform");
  expect(text).toContain('href="/admin/users?q=who%3Fplatform"');
});

/** What a page gives back. */
const writtenIn = (text: string) =>
  [...text.matchAll(/<p class="card text"><bdi>([^<]*)<\/bdi><\/p>/g)].map(([, given]) => given!);

test("whose session is over keeps what they wrote; another site's form brings nothing", async () => {
  const fields = { do: "reject", notes: "Not one of us, <b>sorry</b>", form: "x" };
  const nobody = new Visitor(service);
  const own = await nobody.submit({ text: "" }, "/admin/claims?q=river", fields);
  // What a form was sent to is no place to come back to.
  expect(own.text).not.toContain("river");
  expect(own.status).toBe(401);
  expect(own.text).toContain("Not one of us, &lt;b&gt;sorry&lt;/b&gt;");
  expect(own.text).toContain(`href="/sign-in?returnTo=%2Fadmin%2Fclaims"`);
  const several = await nobody.open("/admin/claims", {
    ...{ method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" } },
    body: "claim=1&claim=2&notes=None+of+them&form=x",
  });
  expect([several.status, several.text.includes("None of them")]).toEqual([401, true]);
  // Not everybody writes words, or spaces between them.
  for (const notes of ["ひとりごと。私たちの会員ではありません", "spam"]) {
    const { status, text } = await nobody.submit({ text: "" }, "/admin/claims", { ...fields, notes });
    expect([status, writtenIn(text)]).toEqual([401, [notes]]);
  }
  const chosen = { do: "reject", notes: " ", reason: "unknown" };
  expect(writtenIn((await nobody.submit({ text: "" }, "/admin/claims", chosen)).text)).toEqual(["unknown"]);
  // As long as a note may be, in characters that take the most room.
  const notes = `Sorry. ${"\u{1f30d}".repeat(9_990)}`;
  const long = await nobody.submit({ text: "" }, "/admin/claims", { ...fields, notes });
  expect([long.status, long.text.includes(notes)]).toEqual([401, true]);
  const headers = { "sec-fetch-site": "cross-site" };
  const foreign = await nobody.submit({ text: "" }, "/admin/claims", fields, { headers });
  expect([foreign.status, foreign.text.includes("Not one of us")]).toEqual([401, false]);
});

test("who has signed in anew keeps what they wrote in the session before; another site's form brings nothing", async () => {
  const org = await m.addOrganization(service.database.owner, { head: "org_admin" });
  const before = await new Visitor(service).signIn(`head@${org.domain}`);
  const page = await before.open("/admin/claims");
  // In another tab.
  const visitor = await new Visitor(service).signIn(`head@${org.domain}`);
  const fields = { action: "reject", claim: "x", confirmed: "yes", notes: "spam" };
  const refused = await visitor.submit(page, "/admin/claims", fields);
  expect([refused.status, titleOf(refused.text), writtenIn(refused.text)]).toEqual([
    ...[403, "That did not work", ["spam"]],
  ]);
  const headers = { "sec-fetch-site": "cross-site" };
  const foreign = await visitor.submit(page, "/admin/claims", fields, { headers });
  expect([foreign.status, writtenIn(foreign.text)]).toEqual([403, []]);
  // So does whoever is refused for another reason.
  const unclear = await before.submit(page, "/admin/claims", { ...fields, action: "ask" });
  expect([unclear.status, writtenIn(unclear.text)]).toEqual([400, ["spam"]]);
});

test("of each form all is given back that is written into it, and nothing that the page has put there", async () => {
  const org = await m.addOrganization(service.database.owner, { head: "org_admin" });
  const orphan = await m.addOrganization(service.database.owner);
  const queue = new ClaimQueue(service);
  const claim = await queue.claim(org);
  const path = (uri: string) => `/organizations/${encodeURIComponent(uri)}`;
  const filled: string[] = [];
  const visitor = (email: string) => new Visitor(service).signIn(email);
  const head = await visitor(`head@${org.domain}`);
  await service.database.owner.query(
    "insert into app_public.platform_roles (user_id, role) select user_id, 'admin' from app_public.users where email = $1",
    [`head@${org.domain}`],
  );
  for (const [who, address] of [
    [head, path(org.uri)],
    [await visitor("stranger@elsewhere.example"), path(org.uri)],
    [head, path(orphan.uri)],
    [head, `/admin/claims/${claim}`],
    [head, "/admin/users"],
    [head, "/sparql"],
  ] as const) {
    const { text } = await who.open(address);
    for (const [form, inside = ""] of text.matchAll(/<form[^>]* method="post"[^>]*>(.*?)<\/form>/gs)) {
      const tags = [...inside.matchAll(/<(?:input|textarea)\s[^>]*>/g)].map(([tag]) => tag);
      const isWritten = (tag: string) => !/type="(?:hidden|checkbox)"/.test(tag);
      const names = (all: string[]) => all.map((tag) => /name="(\w+)"/.exec(tag)![1]!);
      const typed = names(tags.filter(isWritten));
      const own = names(tags.filter((tag) => !isWritten(tag)));
      const answer = await new Visitor(service).submit({ text: "" }, address, {
        ...Object.fromEntries(own.filter((name) => name !== "email").map((name) => [name, `own-${name}`])),
        ...Object.fromEntries(typed.map((name) => [name, `my-${name}`])),
      });
      expect([form.slice(0, 80), writtenIn(answer.text).toSorted()]).toEqual([
        form.slice(0, 80),
        typed.map((name) => `my-${name}`).toSorted(),
      ]);
      filled.push(...typed);
    }
  }
  expect([...new Set(filled)].toSorted()).toEqual(
    [
      "notes",
      "query",
      "email",
      "name",
      "type",
      "website",
      "domain",
      "firstName",
      "lastName",
      "duty",
    ].toSorted(),
  );
  // What was there when the page was shown is nobody's words.
  const edit = {
    do: "edit",
    name: "River",
    nameBefore: "River",
    type: "new",
    typeBefore: "old",
    domain: " ",
  };
  const { text } = await new Visitor(service).submit({ text: "" }, path(org.uri), edit);
  expect(writtenIn(text)).toEqual(["new"]);
});

test("who signs in from a page comes back to what it showed", async () => {
  for (const path of ["/sparql?query=ASK+%7B%7D", "/graphiql?query=%7B__typename%7D"]) {
    const { text } = await new Visitor(service).open(path);
    const [, header] = /<header class="site"[^>]*>(.*?)<\/header>/s.exec(text)!;
    expect(header).toContain(`<a href="/sign-in?${new URLSearchParams({ returnTo: path }).toString()}">`);
  }
});
