// What all pages have in common: the frame, who is signed in, and where its links lead for whom.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import * as m from "./support/membership.ts";
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

test("whose session is over keeps what they wrote; another site's form brings nothing", async () => {
  const fields = { do: "reject", notes: "Not one of us, <b>sorry</b>", form: "x" };
  const nobody = new Visitor(service);
  const own = await nobody.submit({ text: "" }, "/admin/claims", fields);
  expect(own.status).toBe(401);
  expect(own.text).toContain("Not one of us, &lt;b&gt;sorry&lt;/b&gt;");
  expect(own.text).toContain(`href="/sign-in?returnTo=%2Fadmin%2Fclaims"`);
  const headers = { "sec-fetch-site": "cross-site" };
  const foreign = await nobody.submit({ text: "" }, "/admin/claims", fields, { headers });
  expect([foreign.status, foreign.text.includes("Not one of us")]).toEqual([401, false]);
});

test("who signs in from a page comes back to what it showed", async () => {
  for (const path of ["/sparql?query=ASK+%7B%7D", "/graphiql?query=%7B__typename%7D"]) {
    const { text } = await new Visitor(service).open(path);
    const [, header] = /<header class="site"[^>]*>(.*?)<\/header>/s.exec(text)!;
    expect(header).toContain(`<a href="/sign-in?${new URLSearchParams({ returnTo: path }).toString()}">`);
  }
});
