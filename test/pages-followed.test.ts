// Every link that a page has, followed as somebody would who may do more or less; and what stands in it beside what the database has.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { demoId } from "../db/demo/records.ts";
import { ClaimQueue, QUEUE } from "./support/claim-queue.ts";
import { startDemoService } from "./support/demo.ts";
import { AS_A_BROWSER } from "./support/desk.ts";
import { Visitor } from "./support/visitor.ts";

const PLATFORM = "admin@platform.example";
const MANAGER = "admin@northern-light.example";
const NOBODY = "ona@nowhere.example";
const ORG = "https://data.example.org/org/northern-light";
const ORG_PATH = `/organizations/${encodeURIComponent(ORG)}`;
const CLAIM = `${QUEUE}/${demoId("organization claim", 0)}`;

let service: Awaited<ReturnType<typeof startDemoService>>;
const visitors = new Map<string, Visitor>();
beforeAll(async () => {
  service = await startDemoService();
  visitors.set("", new Visitor(service));
  for (const email of [PLATFORM, MANAGER, NOBODY])
    visitors.set(email, await new Visitor(service).signIn(email));
});
afterAll(() => service.stop());

const db = () => service.database.owner;
const as = (email: string) => visitors.get(email)!;
const plain = (html: string) =>
  html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replace(/\s+/g, " ")
    .trim();

/** What pages of one kind have in common: ids, and what is asked by a name, tell them apart. */
function kindOf({ pathname, searchParams }: URL): string {
  const path = pathname
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, ":id")
    .replace(/http[^/]+/g, ":uri");
  return `${path}?${[...searchParams.keys()].toSorted().join("&")}`;
}

/** What is wrong with the ids of a page. A part whose name or description is not there has none for a screen reader. */
function misnamed(text: string): string[] {
  const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id!);
  const named = [...text.matchAll(/ aria-(?:labelledby|describedby)="([^"]*)"/g)].flatMap(([, all]) =>
    all!.split(" "),
  );
  return [
    ...named
      .filter((id) => !ids.includes(id))
      .map((id) => `nothing is called ${id}, which names a part of it`),
    ...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `two things are called ${id}`),
  ];
}

/** Follows links from the overview, of each kind a few. @returns what was wrong, by where the link stands */
async function follow(visitor: Visitor, begin: string[]): Promise<{ wrong: string[]; kinds: Set<string> }> {
  const wrong: string[] = [];
  const kinds = new Map<string, number>();
  const seen = new Map<string, Promise<{ status: number; text: string; isPage: boolean }>>();
  const open = (path: string) => {
    const opened =
      seen.get(path) ??
      visitor.open(path, AS_A_BROWSER).then(({ status, text, headers }) => ({
        ...{ status, text, isPage: (headers.get("content-type") ?? "").startsWith("text/html") },
      }));
    seen.set(path, opened);
    return opened;
  };
  const waiting = begin.map((path) => ({ from: "", path }));
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const url = new URL(next.path, service.url);
    const { status, text, isPage } = await open(`${url.pathname}${url.search}`);
    const at = `${next.from} → ${next.path}`;
    if (status !== 200 && status !== 303) wrong.push(`${at}: ${status}`);
    if (status !== 200 || !isPage) continue;
    if (url.hash !== "" && !text.includes(`id="${decodeURIComponent(url.hash.slice(1))}"`))
      wrong.push(`${at}: nothing there is called so`);
    if (kinds.has(`done ${url.pathname}${url.search}`)) continue;
    kinds.set(`done ${url.pathname}${url.search}`, 1);
    wrong.push(...misnamed(text).map((id) => `${at}: ${id}`));
    for (const [, tag] of text.matchAll(/<a ([^>]*)>/g)) {
      const href = plain(/href="([^"]*)"/.exec(tag!)?.[1] ?? "");
      if (href.startsWith("mailto:")) continue;
      const to = new URL(href, new URL(next.path, service.url));
      if (to.origin !== new URL(service.url).origin) {
        // What somebody has written leads wherever they want; what we write does not.
        const isOurs = to.host === "www.w3.org";
        if (!isOurs && !tag!.includes("noopener noreferrer"))
          wrong.push(`${at}: ${href} learns where one came from`);
        continue;
      }
      const kind = kindOf(to) + to.hash;
      const number = kinds.get(kind) ?? 0;
      kinds.set(kind, number + 1);
      if (number < 2) waiting.push({ from: next.path, path: `${to.pathname}${to.search}${to.hash}` });
    }
  }
  return { wrong, kinds: new Set([...kinds.keys()].filter((kind) => !kind.startsWith("done "))) };
}

const BEGIN = ["/", "/organizations", "/search?q=a", ORG_PATH, `${ORG_PATH}?list=commitments`];

test.each([
  ["who is not signed in", "", BEGIN.slice(0, 1), 5],
  ["somebody new", NOBODY, BEGIN, 15],
  ["who manages an organization", MANAGER, [...BEGIN, QUEUE, CLAIM, `${QUEUE}?status=all`], 20],
  [
    "who runs the platform",
    PLATFORM,
    [...BEGIN, QUEUE, CLAIM, `${QUEUE}?status=all`, "/admin/users", "/admin/graph"],
    25,
  ],
])(
  "every link that is shown to %s leads somewhere, and what a page names its parts by is there once",
  async (_, email, begin, atLeast) => {
    const { wrong, kinds } = await follow(as(email), begin);
    expect(wrong).toEqual([]);
    expect(kinds.size).toBeGreaterThanOrEqual(atLeast);
  },
);

test("from a claim one comes to the next and back to it", async () => {
  const first = await as(PLATFORM).open(QUEUE);
  const [, begin] = /<li data-claim="([^"]+)"/.exec(first.text)!;
  const to = async (path: string, rel: string, label: string) => {
    const { text } = await as(PLATFORM).open(path);
    return new RegExp(`<a rel="${rel}" href="([^"]*)">${label}</a>`).exec(text)?.[1];
  };
  const next = await to(`${QUEUE}/${begin!}`, "next", "Next claim");
  expect(next).toMatch(/^\/admin\/claims\//);
  expect(await to(next!, "prev", "Previous claim")).toBe(`${QUEUE}/${begin!}`);
  expect(await to(`${QUEUE}/${begin!}`, "prev", "Previous claim")).toBeUndefined();
});

/** What stands behind each term of a page. */
function termsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/<dt>([^]*?)<\/dt>\s*<dd>([^]*?)<\/dd>/g)].map(([, term, said]) => [
      plain(term!),
      plain(said!),
    ]),
  );
}

test("what a claim is shown with is what the database has of it, each behind its own term", async () => {
  const queue = new ClaimQueue(service);
  const { rows } = await db().query<{ id: string }>(
    "select claim_id as id from app_public.organization_claims",
  );
  expect(rows.length).toBeGreaterThan(2);
  for (const { id } of rows) {
    const claim = await queue.told(PLATFORM, `claim_to_review('${id}')`);
    const { organization } = claim;
    const { text } = await as(PLATFORM).open(`${QUEUE}/${id}`);
    const terms = termsOf(text);
    const asSaid = claim.isNewOrg ? ", as they say" : "";
    expect(terms).toMatchObject({
      Name: expect.stringContaining(organization.name),
      "E-mail": `${claim.email}, ${claim.isProven ? "proven" : "stated by an application"}`,
      "Role, as they put it": claim.statedRoles.join(", ") || "not given",
      "Sent to": claim.sentTo === "platform" ? "the platform" : "the organization's administrators",
      [`Website${asSaid}`]: organization.website ?? claim.newOrgWebsite ?? "none",
      [`Type${asSaid}`]: organization.type ?? claim.newOrgType ?? "none",
      [claim.isDomainStated ? "Domain, as they say" : "Domain, registered"]: organization.domain ?? "none",
      Members: expect.stringMatching(
        new RegExp(`^${organization.members}, of these administrators: ${organization.administrators}`),
      ),
      Records: `needs: ${organization.needs}, commitments: ${organization.commitments}, attestations: ${organization.engagementClaims}`,
      URI: organization.uri,
    });
    expect(text.includes(`id="similar"`)).toBe(claim.similar.length > 0);
    expect(text.includes("The organization is new")).toBe(claim.isNewOrg);
  }
});

/** The form that has a button, filled in by the labels of its fields. */
function filled(text: string, button: string, values: Record<string, string>): Record<string, string> {
  const form = [...text.matchAll(/<form [^]*?<\/form>/g)]
    .map(([all]) => all)
    .find((all) => all.includes(button))!;
  const fields: Record<string, string> = {};
  for (const [, name, value] of form.matchAll(/<input name="(\w+)" type="hidden" value="([^"]*)"/g))
    fields[name!] = plain(value!);
  for (const [, label, name, value] of form.matchAll(
    /<label>\s*([^<]+?)\s*<input\s+name="(\w+)"(?:[^>]*?\svalue="([^"]*)")?/g,
  ))
    fields[name!] = values[plain(label!)] ?? plain(value ?? "");
  const [, name, value] = new RegExp(`<button[^>]*name="(\\w+)" value="(\\w+)"[^>]*>${button}`).exec(form)!;
  return { ...fields, [name!]: value! };
}

test("what is typed beside a label is kept as what the label says, and shown so", async () => {
  const page = await as(MANAGER).open(ORG_PATH);
  const values = {
    Name: "Northern Lights",
    Type: "Mission board",
    Website: "https://lights.example/about",
    "E-mail domain": "lights.example",
  };
  const { status, location } = await as(MANAGER).submit(page, ORG_PATH, filled(page.text, "Save", values));
  expect(status).toBe(303);
  const { rows } = await db().query(
    `select name as "Name", type as "Type", website as "Website", domain as "E-mail domain"
     from app_public.organizations where org_uri = $1`,
    [ORG],
  );
  expect(rows).toEqual([values]);
  const { text } = await as(MANAGER).open(location!);
  const { Name: name, ...shown } = values;
  expect(termsOf(text)).toMatchObject({ ...shown, URI: ORG });
  expect(text).toContain(`<h1>${name}</h1>`);
  // What the form begins with is what is so now.
  expect(filled(text, "Save", {})).toMatchObject({
    ...{ name, type: shown.Type, website: shown.Website, domain: shown["E-mail domain"] },
  });
});

test("who asks to belong is known by the names of the fields, and sees since when they wait", async () => {
  const page = await as(NOBODY).open(ORG_PATH);
  const values = { "First name": "Ona", "Last name": "Birch", "What you do there, if you like": "Books" };
  const sent = await as(NOBODY).submit(page, ORG_PATH, filled(page.text, "Ask to belong to it", values));
  expect(sent.status).toBe(303);
  const { rows } = await db().query<{ id: string; at: string }>(
    `select c.claim_id as id, c.created_at as at from app_public.organization_claims as c
     join app_public.users as u using (user_id)
     where u.email = $1 and u.first_name = 'Ona' and u.last_name = 'Birch'`,
    [NOBODY],
  );
  expect(rows).toHaveLength(1);
  const waiting = (await as(NOBODY).open(sent.location!)).text;
  expect(waiting).toContain(`since <time datetime="${new Date(rows[0]!.at).toISOString()}">`);
  expect(termsOf((await as(PLATFORM).open(`${QUEUE}/${rows[0]!.id}`)).text)).toMatchObject({
    "Role, as they put it": "Books",
  });
  expect((await as(PLATFORM).open(ORG_PATH)).text).toContain(`href="${QUEUE}/${rows[0]!.id}"`);
  const back = await as(NOBODY).submit(
    { text: waiting },
    ORG_PATH,
    filled(waiting, "Withdraw the request", {}),
  );
  expect((await as(NOBODY).open(back.location!)).text).toContain("Your claim was withdrawn.");
  // It has ended without a decision: nobody is mailed that.
  const told = (await as(PLATFORM).open(`${QUEUE}?done=${rows[0]!.id}`)).text;
  expect(told).toContain("was withdrawn by the claimant.");
  expect(told).not.toContain("They get an e-mail.");
});
