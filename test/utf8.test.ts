// Bytes that are not UTF-8 are refused at every door, in every part of a request, and leave nothing behind.
import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startTestServiceWithGraph } from "./support/service.ts";
import type { TestService } from "./support/service.ts";
import { admin, ORG } from "./support/world.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestServiceWithGraph();
});
afterAll(() => service.stop());

/** Neither UTF-8 nor anything that a lenient decoder would refuse. */
const NOT_UTF8 = {
  Latin1: [0xe9],
  "a byte that no text has": [0xff],
  "a sequence cut short": [0xe2, 0x82],
  "an overlong form": [0xc0, 0xaf],
  "half of a surrogate pair": [0xed, 0xa0, 0x80],
  "beyond Unicode": [0xf4, 0x90, 0x80, 0x80],
};
const PLACE = "@@";

/** A text with a place in it, where the bytes go. */
function withBytes(text: string, bytes: readonly number[]): Buffer {
  const [before, after] = text.split(PLACE).map((part) => Buffer.from(part));
  return Buffer.concat([before!, Buffer.from(bytes), after!]);
}

const percent = (bytes: readonly number[]) =>
  bytes.map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

type Sent = { method?: string; path: string; type?: string; body?: Buffer; headers?: Record<string, string> };
type Answer = { status: number; text: string };

async function send({ method = "POST", path, type, body, headers = {} }: Sent): Promise<Answer> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${service.keys.review}`,
      ...(type && { "content-type": type }),
      ...headers,
    },
    ...(body && { body: new Uint8Array(body) }),
  });
  return { status: response.status, text: await response.text() };
}

/** Sends a request as it is written, byte for byte, which fetch does not do with headers and addresses. */
async function sendRaw(head: string, bytes: readonly number[]): Promise<Answer> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const lines = head.replace(
    "\n",
    `\nhost: x\nauthorization: Bearer ${service.keys.review}\nconnection: close\n`,
  );
  socket.write(withBytes(`${lines.replaceAll("\n", "\r\n")}\r\n\r\n`, bytes));
  const text = (await socket.toArray()).join("");
  return { status: Number(text.split(" ")[1]), text };
}

const need = JSON.stringify({
  ...{
    orgUri: ORG,
    orgName: "River",
    declaredByEmail: admin,
    needDescription: `caf${PLACE}`,
    accelerators: ["PRA"],
  },
});
const mutation = (description: string) =>
  JSON.stringify({
    query: `mutation { declareNeed(input: {orgUri: "${ORG}", orgName: "River", declaredByEmail: "${admin}",
      needDescription: "${description}", accelerators: ["PRA"]}) { need { needId } } }`,
  });
const withVariable = JSON.stringify({
  query: "mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needId } } }",
  variables: { input: JSON.parse(need) as object },
});
const tool = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
  params: { name: "churches_search_v1", arguments: { queryParams: { q: PLACE } } },
});
const SELECT = `SELECT * WHERE { VALUES ?x { "${PLACE}" } }`;
const JSON_TYPE = "application/json";
const FORM = "application/x-www-form-urlencoded";

/** The parts of a request that may hold text, and what a request with these bytes there is answered. */
const PARTS: Record<string, (bytes: readonly number[]) => Promise<Answer>> = {
  "a body of REST": (bytes) => send({ path: "/v0/needs", type: JSON_TYPE, body: withBytes(need, bytes) }),
  "a compressed body of REST": (bytes) =>
    send({
      ...{ path: "/v0/needs", type: JSON_TYPE, body: gzipSync(withBytes(need, bytes)) },
      headers: { "content-encoding": "gzip" },
    }),
  "a query of REST": (bytes) => send({ method: "GET", path: `/v0/orgs/search?q=caf${percent(bytes)}` }),
  "the name of a parameter": (bytes) => send({ method: "GET", path: `/v0/needs?${percent(bytes)}=1` }),
  "a path of REST": (bytes) => send({ method: "GET", path: `/v0/orgs/caf${percent(bytes)}` }),
  "the reviewer's header": (bytes) =>
    sendRaw(`GET /v0/admin/claims HTTP/1.1\nx-admin-email: a${PLACE}@b.example`, bytes),
  "an idempotency key": (bytes) =>
    sendRaw(`POST /v0/needs HTTP/1.1\nidempotency-key: k${PLACE}\ncontent-length: 0`, bytes),
  "a GraphQL document": (bytes) =>
    send({ path: "/graphql", type: JSON_TYPE, body: withBytes(mutation(PLACE), bytes) }),
  "a GraphQL variable": (bytes) =>
    send({ path: "/graphql", type: JSON_TYPE, body: withBytes(withVariable, bytes) }),
  "the address of GraphQL": (bytes) =>
    send({ method: "GET", path: `/graphql?query=${percent(bytes)}`, headers: { accept: JSON_TYPE } }),
  "a message of MCP": (bytes) => send({ path: "/v0/mcp", type: JSON_TYPE, body: withBytes(tool, bytes) }),
  "the address of MCP": (bytes) =>
    send({ path: `/v0/mcp?any=${percent(bytes)}`, type: JSON_TYPE, body: Buffer.from(tool) }),
  "a SPARQL query": (bytes) =>
    send({ path: "/v0/sparql", type: "application/sparql-query", body: withBytes(SELECT, bytes) }),
  "a SPARQL query in JSON": (bytes) =>
    send({ path: "/v0/sparql", type: JSON_TYPE, body: withBytes(JSON.stringify({ query: SELECT }), bytes) }),
  "a SPARQL query in a form": (bytes) =>
    send({ path: "/v0/sparql", type: FORM, body: Buffer.from(`query=${formed(SELECT, percent(bytes))}`) }),
  "a SPARQL query in a form, not encoded": (bytes) =>
    send({ path: "/v0/sparql", type: FORM, body: withBytes(`query=${formed(SELECT, PLACE)}`, bytes) }),
  "a SPARQL query in the address": (bytes) =>
    send({ method: "GET", path: `/v0/sparql?query=${formed(SELECT, percent(bytes))}` }),
};

function formed(text: string, place: string): string {
  return encodeURIComponent(text).replace(encodeURIComponent(PLACE), place);
}

async function stored(): Promise<number> {
  const { rows } = await service.database.owner.query("select from app_public.needs");
  return rows.length;
}

const IS_A_HEADER = /header|idempotency/;

describe.each(Object.entries(PARTS))("%s", (part, sendPart) => {
  test.each(Object.entries(NOT_UTF8))("refuses %s", async (_, bytes) => {
    const before = await stored();
    const { status, text } = await sendPart(bytes);
    expect([status, text]).toEqual([400, expect.stringContaining("is not well-formed UTF-8")]);
    expect(await stored()).toBe(before);
  });

  test("takes UTF-8", async () => {
    const { status, text } = await sendPart([...Buffer.from("é€🙏")]);
    expect(text).not.toContain("well-formed");
    // No address has such letters, no church has such a name, and what is sent with such a key is no need.
    expect([200, 201, 404, 405, ...(IS_A_HEADER.test(part) ? [400, 415] : [])]).toContain(status);
  });
});

describe("half of a surrogate pair, which JSON can write and UTF-8 cannot", () => {
  const written = (escape: string) => Buffer.from(escape);
  const JSON_PARTS = Object.entries(PARTS).filter(([part]) =>
    [
      "a body of REST",
      "a compressed body of REST",
      "a GraphQL variable",
      "a message of MCP",
      "a SPARQL query in JSON",
    ].includes(part),
  );
  test.each(JSON_PARTS)("in %s", async (_, sendPart) => {
    const before = await stored();
    for (const escape of ["\\ud800", "\\uDFFF", "\\udc00\\ud800", "\\\\\\ud83d"]) {
      const { status, text } = await sendPart([...written(escape)]);
      expect([escape, status, text]).toEqual([
        escape,
        400,
        expect.stringContaining("half of a surrogate pair"),
      ]);
    }
    expect(await stored()).toBe(before);
    // A whole pair, and a backslash with the letters of an escape behind it.
    for (const escape of ["\\ud83d\\ude4f", "\\\\ud800"]) {
      const { text } = await sendPart([...written(escape)]);
      expect(text).not.toContain("half of a surrogate pair");
    }
  });

  test("in a GraphQL document", async () => {
    const { status, text } = await send({
      ...{ path: "/graphql", type: JSON_TYPE, body: Buffer.from(mutation("\\ud800")) },
    });
    expect([status, text]).toEqual([400, expect.stringContaining("validation_failed")]);
  });

  test("in a name of a field", async () => {
    const { status, text } = await send({
      path: "/v0/needs",
      type: JSON_TYPE,
      body: Buffer.from('{"\\ud800": 1}'),
    });
    expect([status, text]).toEqual([400, expect.stringContaining("half of a surrogate pair")]);
  });

  test("as an escape of SPARQL", async () => {
    const body = Buffer.from('SELECT * WHERE { VALUES ?x { "\\uD800" } }');
    const { status } = await send({ path: "/v0/sparql", type: "application/sparql-query", body });
    expect(status).toBe(400);
  });
});

describe("another charset is refused by its name, and UTF-8 has several", () => {
  const bodies = {
    "/v0/needs": need,
    "/graphql": withVariable,
    "/v0/mcp": tool,
    "/v0/sparql": JSON.stringify({ query: SELECT }),
  };
  test.each(Object.entries(bodies))("%s", async (path, body) => {
    for (const charset of ["iso-8859-1", "utf-16", "utf-16le", "windows-1252", "utf-8859", '"utf-7"']) {
      const bytes = charset.startsWith("utf-16") ? Buffer.from(body, "utf16le") : Buffer.from(body, "latin1");
      const { status, text } = await send({ path, type: `${JSON_TYPE}; charset=${charset}`, body: bytes });
      expect([charset, status, text]).toEqual([
        charset,
        415,
        expect.stringContaining("unsupported_media_type"),
      ]);
    }
    for (const charset of [
      ...["utf-8", "UTF-8", "utf8", "UTF8", '"utf-8"', '"UTF8"', "us-ascii", "utf8 ; profile=x"],
    ]) {
      const type = `${JSON_TYPE}; charset=${charset}`;
      const { status } = await send({ path, type, body: Buffer.from(body) });
      expect({ charset, status }).toEqual({ charset, status: path === "/v0/needs" ? 201 : 200 });
    }
  });
});

test("a byte order mark is not part of the text", async () => {
  const body = Buffer.from(`\uFEFF${need}`);
  expect((await send({ path: "/v0/needs", type: JSON_TYPE, body })).status).toBe(201);
});

test("bytes in an address that are not encoded at all are refused", async () => {
  for (const bytes of Object.values(NOT_UTF8)) {
    expect((await sendRaw(`GET /v0/needs?orgUri=${PLACE} HTTP/1.1`, bytes)).status).toBe(400);
  }
});

test("bytes in the address of a page that are not UTF-8 are refused, whoever opens it", async () => {
  for (const bytes of Object.values(NOT_UTF8)) {
    const opened = await fetch(`${service.url}/search?q=caf${percent(bytes)}`, { redirect: "manual" });
    expect(opened.status).toBe(400);
  }
  const opened = await fetch(`${service.url}/search?q=caf%C3%A9`, { redirect: "manual" });
  expect(opened.status).toBe(303);
});

test("a stranger learns nothing of how a request is read", async () => {
  const answer = await fetch(`${service.url}/v0/orgs/%FF`);
  expect(answer.status).toBe(401);
});
