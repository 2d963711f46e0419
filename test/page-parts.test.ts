// Parts of pages by themselves, with what they are given: what each says of it, and where it leads.
import { EventEmitter } from "node:events";
import { describe, expect, test } from "@jest/globals";
import { html } from "hono/html";
import { loadConfig } from "../config.ts";
import { createNames } from "../graph/namespaces.ts";
import { ApiError } from "../server/errors.ts";
import type { AskGraphql } from "../server/graphql/ask.ts";
import { showOperation } from "../server/pages/docs/operation.ts";
import { header } from "../server/pages/layout.ts";
import { act, SENTENCES } from "../server/pages/organization/acts.ts";
import { claims } from "../server/pages/organization/claims.ts";
import { PAGE } from "../server/pages/organization/data.ts";
import type { Member } from "../server/pages/organization/data.ts";
import { members } from "../server/pages/organization/members.ts";
import { accelerators } from "../server/pages/overview/accelerators.ts";
import { explorerLink, listLink } from "../server/pages/overview/links.ts";
import { months } from "../server/pages/overview/months.ts";
import type { Picture } from "../server/pages/overview/picture.ts";
import type { Shown, Visit } from "../server/pages/page.ts";
import { organizations } from "../server/pages/organizations.ts";
import { users } from "../server/pages/users.ts";
import { pageOf, pager } from "../server/pages/parts/pager.ts";
import { phrase } from "../server/pages/parts/text.ts";
import { time } from "../server/pages/parts/time.ts";
import { MOST_COUNTED, treeOf } from "../server/pages/record/chain.ts";
import type { Node, Tree } from "../server/pages/record/chain.ts";
import { drawing, hiddenOf, moreOf } from "../server/pages/record/drawing.ts";
import { sparqlPage } from "../server/pages/sparql.ts";
import type { SparqlEndpoint } from "../server/sparql/endpoint.ts";

/** Of what waits for nothing. */
const markup = (content: unknown) => String(content);

/** A visit of a page with this query. */
function visiting(query: Record<string, string> = {}): Visit {
  const address = `/x?${new URLSearchParams(query).toString()}`;
  return { address, query: (name: string) => query[name], proof: html`` } as unknown as Visit;
}

describe("the API reference", () => {
  const operation = (more: object) =>
    Promise.resolve(
      showOperation(
        { path: "/v0/things", method: "post" },
        {
          ...{ operationId: "makeThing", tags: ["Things"], summary: "Make a thing", responses: {} },
          ...more,
        },
      ),
    ).then((shown) => String(shown).replaceAll(/\s+/g, " "));

  test("tells the fields of what is answered, which are required, and what counts where one is left out", async () => {
    const text = await operation({
      responses: {
        201: {
          description: "It is made.",
          content: {
            "application/json": {
              schema: {
                ...{ type: "object", required: ["thingId"] },
                properties: {
                  thingId: { type: "string" },
                  size: { type: "integer", default: 7, description: "How large it is." },
                },
              },
            },
          },
        },
        400: {
          description: "It is not.",
          content: { "application/json": { schema: { properties: { inner: { type: "string" } } } } },
        },
      },
    });
    expect(text).toMatch(/<code>thingId<\/code> <span class="quiet">string, required</);
    expect(text).toMatch(/<code>size<\/code> <span class="quiet">integer</);
    expect(text).toContain("How large it is. Otherwise <code>7</code>.");
    // Those of refusals are the same everywhere.
    expect(text).not.toContain("<code>inner</code>");
  });

  test("tells what a list takes and what has to be sent, in words and to the form", async () => {
    const text = await operation({
      parameters: [
        { name: "tags", in: "query", schema: { type: "array", items: { type: "string" } } },
        { name: "thingId", in: "path", required: true, schema: { type: "string" } },
      ],
    });
    const [tags, thing] = text.split('name="thingId"');
    expect([tags!.includes("Separate several values"), thing!.includes("Separate several values")]).toEqual([
      true,
      false,
    ]);
    expect(text).toContain("query, list of string<");
    expect(text).toContain("path, string, required<");
  });

  test("says that an operation is deprecated where it is listed, and of no other", async () => {
    expect(await operation({ deprecated: true })).toContain("Deprecated. Make a thing");
    expect(await operation({})).not.toContain("Deprecated");
  });

  test("offers each example with the type that it is sent as, and a form's fields as a form", async () => {
    const text = await operation({
      requestBody: {
        content: {
          "text/plain": { example: "a b" },
          "application/x-www-form-urlencoded": { example: { name: "a b", size: "1" } },
        },
      },
    });
    expect(text).toContain('<option data-type="text/plain" value="a b">');
    expect(text).toContain(
      '<option data-type="application/x-www-form-urlencoded" value="name=a+b&amp;size=1">',
    );
    expect(text).toMatch(/<textarea name="body" data-in="body" data-type="text\/plain"[^>]*> ?a b</);
  });
});

describe("the overview", () => {
  test("leads to what was counted, whatever characters a code or a query has", () => {
    const said = (link: string) => [...new URL(link, "https://x.example").searchParams];
    const accelerator = "A&status=open#1 +%41";
    expect(said(listLink("needs", { accelerator, status: "met" }))).toEqual([
      ["accelerator", accelerator],
      ["status", "met"],
    ]);
    expect(listLink("needs")).toBe("/v0/needs");
    expect(said(explorerLink(accelerator))).toEqual([["query", accelerator]]);
  });

  const drawn = (picture: Picture, data: object) =>
    picture((() => Promise.resolve({ data })) as unknown as AskGraphql, { exchange: {} } as Visit).then(
      String,
    );

  test("the bar of an accelerator is its share of the one with the most needs, open or not", async () => {
    const group = (code: string, count: number, open: number, prefLabel?: string) => ({
      ...{ count, open },
      group: { accelerators: code, accelerator: prefLabel === undefined ? null : { prefLabel } },
    });
    const text = await drawn(accelerators, {
      needs: { groupedAggregates: [group("A", 8, 1, "Audio"), group("B", 4, 4)] },
    });
    expect(Array.from(text.matchAll(/<rect width="([\d.]+)"/g), ([, width]) => width)).toEqual([
      "100.00",
      "50.00",
    ]);
    // A code that is in no vocabulary any more is its own name.
    expect(Array.from(text.matchAll(/<bdi>([^<]*)</g), ([, name]) => name)).toEqual(["Audio", "B"]);
  });

  test("a column is as high as what ended in its month, and full as far as that was fulfilled", async () => {
    const month = (start: string, count: number, fulfilled: number) => ({
      ...{ count, fulfilled },
      group: { changedAtTruncatedToMonth: start },
    });
    const text = await drawn(months, {
      statusChanges: {
        groupedAggregates: [
          month("2026-01-01T00:00:00+00:00", 4, 1),
          month("2025-11-01T00:00:00+00:00", 2, 2),
        ],
      },
    });
    const column = (kind: string) =>
      Array.from(
        text.matchAll(
          new RegExp(`class="${kind}"\\s+x="[\\d.]+"\\s+y="([\\d.]+)"[^/]*?height="([\\d.]+)"`, "g"),
        ),
        (found) => found.slice(1).map(Number),
      );
    const [[top, height]] = column("rest").slice(-1) as [[number, number]];
    expect(column("rest")).toEqual([
      [top + height / 2, height / 2],
      [top, height],
    ]);
    expect(column("full")).toEqual([
      [top + height / 2, height / 2],
      [top + (height * 3) / 4, height / 4],
    ]);
    const foot = Array.from(text.matchAll(/class="foot"[^>]*>(\w+)</g), ([, name]) => name);
    expect([foot.length, foot[0], foot.at(-1)]).toEqual([12, "Feb", "Jan"]);
    // Each month stands below the middle of its column, and the number above it.
    const last = text.split("<g>").at(-1)!;
    const numbers = (form: RegExp) => Array.from(last.matchAll(form), ([, number]) => Number(number));
    const middles = numbers(/<text[^>]* x="([\d.]+)"|<text x="([\d.]+)"/g);
    const [[x], [width]] = [numbers(/<rect\s+class="rest"\s+x="([\d.]+)"/g), numbers(/width="([\d.]+)"/g)];
    expect(middles).toEqual([x! + width! / 2, x! + width! / 2]);
  });

  test("says of what there is nothing yet that there is none, and draws nothing", async () => {
    for (const [picture, kind, said] of [
      [accelerators, "needs", "There are no needs yet."],
      [months, "statusChanges", "No commitment has ended yet."],
    ] as const) {
      const text = await drawn(picture, { [kind]: { groupedAggregates: [] } });
      expect(text).toContain(`<p>${said}</p>`);
      expect(text).not.toMatch(/<table|<svg/);
    }
  });
});

describe("a chain", () => {
  const record = (more: Partial<Tree>): Tree => ({
    ...{ kind: "need", id: "1", orgUri: "https://o.example", orgName: "O", text: null, status: "open" },
    ...{ by: "a@b.example", at: "2026-01-01T00:00:00Z", children: 0, history: [] },
    ...{ isOwn: false, answers: [], hidden: 0, ...more },
  });

  test("leads from the record itself to its next page, and from another to that one's own", () => {
    expect(moreOf(record({ isOwn: true }), "/needs/1?page=2")).toBe("/needs/1?page=2");
    expect(moreOf(record({ id: "2" }), "/needs/1?page=2")).toBe("/needs/2");
  });

  test("counts what is not shown as far as it is counted", () => {
    const answer = record({ kind: "commitment", id: "2" });
    for (const [more, words] of [
      [{ hidden: 1, children: 1 }, "1 commitment"],
      [{ hidden: 2, children: 3, answers: [answer] }, "2 more commitments"],
      [{ hidden: 999, children: MOST_COUNTED - 1, answers: [answer] }, "999 more commitments"],
      [{ hidden: 1_000, children: MOST_COUNTED, answers: [answer] }, "many more commitments"],
      [{ kind: "commitment", hidden: 3, children: 3 }, "3 attestations"],
    ] as const)
      expect(hiddenOf(record({ ...more, answers: "answers" in more ? [...more.answers] : [] }))).toBe(words);
  });

  test("hides behind a page of answers only those that come after it", () => {
    const node = (id: string, parent: string | null, children: number) =>
      ({ ...record({ id, children }), parent }) satisfies Node;
    const answers = Array.from({ length: 50 }, (_, n) => node(`a${n}`, "own", 0));
    const nodes = [node("own", null, 120), ...answers.with(0, node("a0", "own", 3))];
    const tree = treeOf({ id: "own", page: 2, pages: 3, nodes });
    expect([tree.hidden, tree.answers[0]!.hidden]).toEqual([20, 3]);
    expect(treeOf({ id: "own", page: 3, pages: 3, nodes: nodes.slice(0, 21) }).hidden).toBe(0);
  });

  test("is drawn with one box that is the page itself, and each line from what it answers", async () => {
    const answers = [
      record({ kind: "commitment", id: "2", isOwn: true }),
      record({ kind: "commitment", id: "3" }),
    ];
    const text = String(await drawing(record({ answers, children: 2 }), "/next"));
    const boxes = Array.from(text.matchAll(/href="([^"]*)"[^>]*aria-current="(\w+)"/g), (found) =>
      found.slice(1),
    );
    const once = [
      ["/needs/1", "false"],
      ["/commitments/2", "page"],
      ["/commitments/3", "false"],
    ];
    expect(boxes).toEqual([...once, ...once]);
    expect(text.match(/<path d="M/g)).toHaveLength(4);
  });

  test("has room between any two boxes, also below one that says how many are not shown", async () => {
    const answer = (id: string, hidden: number) =>
      record({
        ...{ kind: "commitment", id, children: 1 + hidden, hidden },
        answers: [record({ kind: "engagement_claim", id: `${id}0` })],
      });
    const text = String(
      await drawing(record({ answers: [answer("2", 7), answer("3", 0)], children: 2 }), "/next"),
    );
    const drawings = text.split('class="chain ').slice(1);
    expect(drawings).toHaveLength(2);
    for (const each of drawings) {
      const boxes = Array.from(
        each.matchAll(/<svg x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"/g),
        (found) => found.slice(1).map(Number),
      ) as [number, number, number, number][];
      expect(boxes).toHaveLength(6);
      // Of two boxes one above the other, the upper one is drawn first.
      const gaps = boxes.flatMap(([x, y, width, height], place) =>
        boxes
          .slice(place + 1)
          .filter((other) => other[0] < x + width && x < other[0] + other[2])
          .map((other) => other[1] - (y + height)),
      );
      expect(gaps.length).toBeGreaterThan(0);
      expect(gaps.filter((gap) => gap <= 0)).toEqual([]);
    }
  });

  test("has in each box no more of a name than there is room for", async () => {
    const text = String(await drawing(record({ orgName: "x".repeat(300) }), "/next"));
    const shown = Array.from(text.matchAll(/class="who">([^<]*)</g), ([, name]) => name!.trim());
    expect(shown).toHaveLength(2);
    for (const name of shown) expect(name).toMatch(/^x{20,40}…$/);
  });
});

describe("pages of a list", () => {
  test("lead no further than the first and the last", () => {
    const links = (page: number, pages: number) =>
      Array.from(
        markup(pager(visiting({ q: "a", page: String(page) }), { page, pages }, "it")).matchAll(
          /rel="(\w+)" href="([^"]*)"/g,
        ),
        (found) => found.slice(1).map((text) => text.replaceAll("&amp;", "&")),
      );
    expect(links(1, 1)).toEqual([]);
    expect(links(1, 2)).toEqual([["next", "/x?q=a&page=2"]]);
    // The first has no number in its address.
    expect(links(2, 2)).toEqual([["prev", "/x?q=a"]]);
    expect(links(2, 3).map(([rel]) => rel)).toEqual(["prev", "next"]);
    // Of which nothing is left, or all that is left is on the first, lead back to that.
    expect([links(2, 0), links(2, 1)]).toEqual([[["prev", "/x?q=a"]], [["prev", "/x?q=a"]]]);
  });

  test("are whole numbers from the first to the ten thousandth; anything else is the first", () => {
    for (const [said, page] of [
      ["2", 2],
      ["10000", 10_000],
      ["10001", 1],
      ["0", 1],
      ["1.5", 1],
      ["x", 1],
    ] as const)
      expect([said, pageOf(visiting({ page: said }))]).toEqual([said, page]);
  });

  test("of claims to an organization are as many as hold all of them", () => {
    const shown = (total: number) => markup(claims(visiting({ claims: "2" }), { items: [], total }));
    expect(shown(2 * PAGE)).toContain("Page 2 of 2");
    expect(shown(2 * PAGE + 1)).toContain("Page 2 of 3");
  });
});

test.each([
  ["people", 25, users],
  ["organizations", 50, organizations],
])("of %s a page has %i, and one more begins another", async (_, most, { show }) => {
  const visit = (total: number) =>
    ({ ...visiting({ page: "1" }), ask: () => Promise.resolve({ items: [], total }) }) as unknown as Visit;
  const pages = async (total: number) => {
    const shown = await show(visit(total));
    return /Page 1 of (\d)/.exec(String(await (shown as Shown).content))?.[1];
  };
  expect([await pages(most), await pages(most + 1), await pages(2 * most)]).toEqual([undefined, "2", "2"]);
});

test("a time is told to the minute, in UTC, and to programs in full", async () => {
  expect(String(await time("2026-03-01T23:59:30.5+02:00"))).toBe(
    '<time datetime="2026-03-01T21:59:30.500Z">2026-03-01 21:59 UTC</time>',
  );
});

test("of a sentence what stands between backticks is code", async () => {
  expect(String(await phrase("`a` is not `b`."))).toBe("<code>a</code> is not <code>b</code>.");
});

describe("the forms of an organization", () => {
  const sending = async (form: Record<string, string | string[]>) => {
    const asked: { rule: string; input: Record<string, unknown> }[] = [];
    const fields = (name: string) => [form[name] ?? []].flat();
    const ask = (statement: string, input: Record<string, unknown>) => {
      asked.push({ rule: /app_public\.(\w+)\(/.exec(statement)![1]!, input });
      return Promise.resolve();
    };
    const part = () => "https://o.example";
    const visit = { ask, part, fields, field: (name: string) => fields(name)[0] } as unknown as Visit;
    const done = await act(visit);
    return { said: SENTENCES[done], asked };
  };
  const orgUri = "https://o.example";
  const email = "ana@o.example";

  test.each([
    ["role", "set_member_role", { email, role: "org_admin" }, /another role/],
    ["active", "set_member_status", { email, status: "active" }, /active again/],
    ["suspended", "set_member_status", { email, status: "suspended" }, /suspended/],
    ["revoked", "set_member_status", { email, status: "revoked" }, /has ended/],
    ["appoint", "appoint_administrator", { email }, /has an administrator/],
    ["leave", "leave_organization", {}, /have left/],
    ["claim", "claim_organization", { firstName: "Ana", roles: ["digs"] }, /request to join was sent/],
    ["withdraw", "withdraw_organization_claim", { claimId: "1" }, /withdrawn/],
  ])("%s asks one rule, and says what was done", async (action, rule, input, said) => {
    const sent = await sending({
      ...{ do: action, email, role: "org_admin", firstName: "Ana", duty: "digs", claimId: "1" },
    });
    expect(sent.asked).toMatchObject([{ rule, input: { orgUri, ...input } }]);
    expect(sent.said).toMatch(said);
  });

  test("edit asks for what was changed, and for nothing where nothing was", async () => {
    const before = { do: "edit", nameBefore: "Old", domainBefore: "o.example", typeBefore: "" };
    const changed = await sending({ ...before, name: "New", domain: "o.example", type: "" });
    expect(changed.asked).toEqual([{ rule: "update_organization", input: { orgUri, name: "New" } }]);
    expect(changed.said).toBe("The organization was changed.");
    const same = await sending({ ...before, name: "Old", domain: "o.example", type: "" });
    expect([same.asked, same.said]).toEqual([[], expect.stringContaining("nothing was changed")]);
  });

  test("what no button asks for is refused, and asks nothing", async () => {
    for (const wanted of ["", "toString", "delete"])
      await expect(sending({ do: wanted })).rejects.toMatchObject({ code: "validation_failed" });
  });
});

test("beside the name of a member who is managed stand the role that they have and the statuses that they have not", () => {
  const shown = (status: Member["status"]) =>
    markup(
      members(
        visiting(),
        {
          total: 1,
          items: [
            {
              ...{ email: "ana@o.example", firstName: null, lastName: null, role: "org_contributor", status },
              since: "2026-01-01T00:00:00Z",
            },
          ],
        },
        {
          organization: { orgName: "O" },
          standing: { permissions: ["members:manage"] },
        } as Parameters<typeof members>[2],
      ),
    );
  const buttons = (text: string) =>
    Array.from(text.matchAll(/name="do" value="(\w+)"/g), ([, value]) => value);
  expect(shown("active")).toMatch(/value="org_contributor" selected/);
  expect(shown("active").match(/selected/g)).toHaveLength(1);
  expect(buttons(shown("active"))).toEqual(["role", "suspended", "revoked"]);
  expect(buttons(shown("suspended"))).toEqual(["role", "active", "revoked"]);
  expect(shown("suspended")).toMatch(/value="active"\s*>\s*Reinstate</);
});

test("the sign-in leads back to where somebody is, and never to the sign-in itself", () => {
  const link = (address: string) => /href="(\/sign-in[^"]*)"/.exec(markup(header(address, undefined)))![1];
  expect(link("/docs?x=1")).toBe("/sign-in?returnTo=%2Fdocs%3Fx%3D1");
  for (const address of ["/sign-in?returnTo=/docs", "/sign-out", "/confirm-address/secret"])
    expect([address, link(address)]).toEqual([address, "/sign-in"]);
});

test("a query is led to its address up to 8,000 characters of that, and one more is answered at once", async () => {
  const response = Object.assign(new EventEmitter(), { set: () => undefined });
  const endpoint = { maxBytes: 1_000_000, guard: () => Promise.reject(new ApiError("service_busy")) };
  const page = sparqlPage(endpoint as unknown as SparqlEndpoint, createNames(loadConfig({})));
  const sent = (query: string) =>
    page.act!({
      ...{ field: () => query, visitor: { identity: { id: "x" } }, proof: "", exchange: { response } },
    } as unknown as Visit);
  const longest = "a".repeat(8_000 - "/sparql?query=".length);
  expect(await sent(longest)).toBe(`/sparql?query=${longest}#result`);
  expect(await sent(`${longest}a`)).toMatchObject({ status: 503 });
});
