// Documents that the operator has registered, which callers name instead of sending them.
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { RunningServer } from "../server/main.ts";
import { eventually } from "./support/eventually.ts";
import { call, startAnotherServer, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";
import { overServerSentEvents, overWebSocket } from "./support/subscriber.ts";
import type { Subscribe } from "./support/subscriber.ts";
import { admin, ORG } from "./support/world.ts";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const idOf = (text: string) => `sha256:${hashOf(text)}`;

const LABELS = "query A { __typename } query B($code: String!) { accelerator(code: $code) { prefLabel } }";
const DECLARE =
  "mutation ($input: DeclareNeedInput!) { declareNeed(input: $input) { need { needDescription } } }";
const TOO_MANY = "{ needs(first: 201) { totalCount } }";
const CHANGES = "subscription ($after: String) { changes(after: $after) { change } }";
const OF_ANOTHER_CLIENT = "{ needs { totalCount } } # Größe";
const UNKNOWN = "{ commitments { totalCount } }";

let dir: string;
let service: TestService;
let open: RunningServer;
let closed: RunningServer;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "documents-"));
  const texts = [LABELS, DECLARE, TOO_MANY, CHANGES];
  await put("new.json", Object.fromEntries(texts.map((text) => [idOf(text), text])));
  await put("old.json", { [hashOf(OF_ANOTHER_CLIENT)]: OF_ANOTHER_CLIENT });
  await put("README.md", "not a manifest");
  service = await startTestService();
  open = await startAnotherServer(service, { PERSISTED_DOCUMENTS: dir });
  closed = await startAnotherServer(service, {
    PERSISTED_DOCUMENTS: join(dir, "new.json"),
    PERSISTED_DOCUMENTS_ONLY: "true",
  });
});
afterAll(async () => {
  await open.stop();
  await closed.stop();
  await service.stop();
  await rm(dir, { recursive: true, force: true });
});

const put = (name: string, content: unknown) => writeFile(join(dir, name), JSON.stringify(content));

type Parameters = { [name: string]: unknown; variables?: object };
type Send = (url: string, parameters: Parameters, key?: string, accept?: string) => Promise<Answer>;

const post: Send = (url, parameters, key = service.keys.read, accept = "*/*") =>
  call(`${url}/graphql`, "POST", key, parameters, { accept });
const get: Send = (url, { variables, ...texts }, key = service.keys.read, accept = "*/*") => {
  const address = new URLSearchParams(texts as Record<string, string>);
  if (variables) address.set("variables", JSON.stringify(variables));
  return call(`${url}/graphql?${address.toString()}`, "GET", key, undefined, { accept });
};

const codeOf = ({ status, body }: Answer) => [status, body.errors?.[0].extensions.code];

describe.each([
  ["POST", post],
  ["GET", get],
])("by %s", (method, send) => {
  test.each(["open", "closed"])(
    "a document is answered by its id as by its text, on the %s server",
    async (which) => {
      const { url } = which === "open" ? open : closed;
      const rest = { operationName: "B", variables: { code: "PRA" } };
      const named = await send(url, { documentId: idOf(LABELS), ...rest });
      expect([named.status, named.body]).toEqual([200, { data: { accelerator: { prefLabel: "Prayer" } } }]);
      expect((await send(url, { query: LABELS, ...rest })).body).toEqual(named.body);
    },
  );

  test("each manifest of the folder counts, with the prefix of the specification or without", async () => {
    const { body } = await send(open.url, { documentId: idOf(OF_ANOTHER_CLIENT) });
    expect(body).toEqual({ data: { needs: { totalCount: expect.any(Number) } } });
    expect(codeOf(await send(closed.url, { documentId: idOf(OF_ANOTHER_CLIENT) }))).toEqual([
      404,
      "document_not_found",
    ]);
  });

  test.each(["application/json", "application/graphql-response+json"])(
    "an id that nobody registered is 404 as %s, with a single error",
    async (accept) => {
      for (const { url } of [service, open, closed]) {
        const answer = await send(url, { documentId: idOf(UNKNOWN) }, service.keys.read, accept);
        expect(codeOf(answer)).toEqual([404, "document_not_found"]);
        expect(answer.body).toEqual({ errors: [expect.anything()] });
        expect(answer.headers.get("content-type")).toContain(accept);
      }
    },
  );

  test("without its prefix it is another id, and so is the name of a property of objects", async () => {
    for (const documentId of [hashOf(LABELS), "", "constructor", `sha256:${hashOf(LABELS).toUpperCase()}`]) {
      expect(codeOf(await send(open.url, { documentId }))).toEqual([404, "document_not_found"]);
    }
  });

  test("an id together with a text is refused", async () => {
    const answer = await send(open.url, { documentId: idOf(LABELS), query: LABELS, operationName: "A" });
    expect(codeOf(answer)).toEqual([400, "validation_failed"]);
    const alone = await send(open.url, { documentId: idOf(LABELS), query: "", operationName: "A" });
    expect(alone.body).toEqual({ data: { __typename: "Query" } });
  });

  test("a document is bounded as any text, and needs a key as any request", async () => {
    expect(codeOf(await send(open.url, { documentId: idOf(TOO_MANY) }))).toEqual([400, "validation_failed"]);
    expect(codeOf(await send(open.url, { documentId: idOf(LABELS) }, "ek_unknown"))).toEqual([
      401,
      "invalid_api_key",
    ]);
  });

  test("where only registered ones are answered no other is, introspection included", async () => {
    for (const query of [UNKNOWN, "{ __schema { types { name } } }", `${LABELS} `]) {
      expect(codeOf(await send(closed.url, { query }))).toEqual([403, "document_not_registered"]);
    }
    expect(codeOf(await send(closed.url, {}))).toEqual([400, "validation_failed"]);
  });

  test("a mutation keeps to its method", async () => {
    const variables = {
      input: {
        ...{ orgUri: ORG, orgName: "River", declaredByEmail: admin },
        ...{ needDescription: `By ${method}`, accelerators: ["PRA"] },
      },
    };
    const answer = await send(open.url, { documentId: idOf(DECLARE), variables }, service.keys.write);
    const { rows } = await service.database.owner.query(
      "select from app_public.needs where need_description = $1",
      [`By ${method}`],
    );
    if (method === "POST") expect(answer.body.data.declareNeed.need.needDescription).toBe("By POST");
    else expect(codeOf(answer)).toEqual([405, "method_not_allowed"]);
    expect(rows).toHaveLength(method === "POST" ? 1 : 0);
  });
});

test.each([1, {}, ["x"]])("a documentId that is %j is refused", async (documentId) => {
  expect(codeOf(await post(open.url, { documentId }))).toEqual([400, "validation_failed"]);
});

describe.each<[string, Subscribe]>([
  ["WebSocket", overWebSocket],
  ["server-sent events", overServerSentEvents],
])("over %s", (_, subscribe) => {
  test.each(["open", "closed"])("a subscription is named by its id, at the %s server", async (which) => {
    const { url } = which === "open" ? open : closed;
    const { body } = await call(`${service.url}/v0/changes?after=now`, "GET", service.keys.read);
    await service.database.owner.query(
      `insert into app_public.needs (org_uri, org_name, declared_by_email, need_description, accelerators)
       values ($1, 'River', $2, 'Wells', '{PRA}')`,
      [ORG, admin],
    );
    const after = body.next as string;
    const subscriber = subscribe(url, service.keys.read, { documentId: idOf(CHANGES) }, { after });
    await eventually(
      () => expect(subscriber.events).toEqual([{ data: { changes: { change: "created" } } }]),
      20_000,
    );
    subscriber.stop();
  });
});

test("what is not registered is refused over WebSocket, with its code", async () => {
  const asked = [
    [open, { documentId: idOf(UNKNOWN) }, "document_not_found"],
    [closed, "subscription { changes { cursor } }", "document_not_registered"],
  ] as const;
  for (const [{ url }, query, code] of asked) {
    const subscriber = overWebSocket(url, service.keys.read, query);
    await eventually(() => expect(subscriber.events).toHaveLength(1), 20_000);
    expect(subscriber.events).toEqual([
      { errors: [expect.objectContaining({ extensions: expect.objectContaining({ code }) })] },
    ]);
    subscriber.stop();
  }
});

test("what is not registered is refused as a stream, with its code", async () => {
  const stream = (url: string, parameters: Parameters) =>
    call(`${url}/graphql/stream`, "POST", service.keys.read, parameters, { accept: "text/event-stream" });
  expect(codeOf(await stream(open.url, { documentId: idOf(UNKNOWN) }))).toEqual([404, "document_not_found"]);
  expect(codeOf(await stream(closed.url, { query: "subscription { changes { cursor } }" }))).toEqual([
    403,
    "document_not_registered",
  ]);
});

test("requests by id count towards the limit, found or not", async () => {
  const left = async (text: string) => {
    const { headers } = await post(
      open.url,
      { documentId: idOf(text), operationName: "A" },
      service.keys.review,
    );
    return Number(/r=(\d+)/.exec(headers.get("ratelimit")!)![1]);
  };
  const before = await left(LABELS);
  expect([await left(UNKNOWN), await left(LABELS)]).toEqual([before - 1, before - 2]);
});

test.each<[string, string, string]>([
  ["no JSON", "{", "broken.json: "],
  ["a list", JSON.stringify([LABELS]), "not a JSON object that maps ids to texts"],
  ["no text", JSON.stringify({ [idOf(LABELS)]: 1 }), "not a JSON object that maps ids to texts"],
  ["an empty text", JSON.stringify({ [idOf(" ")]: " " }), "is empty"],
  [
    "the id of another text",
    JSON.stringify({ [idOf(LABELS)]: `${LABELS} ` }),
    "is not the SHA-256 of its text",
  ],
  ["bytes that are no text", "\xff", "broken.json: "],
])("a manifest that is %s ends the start", async (_, content, named) => {
  const file = join(dir, "broken.json");
  await writeFile(file, content, "latin1");
  const starting = startAnotherServer(service, { PERSISTED_DOCUMENTS: dir });
  await expect(starting).rejects.toThrow(named);
  await expect(starting).rejects.toThrow(/^PERSISTED_DOCUMENTS: [^\n]*$/);
  await rm(file);
});

test.each<[string, string, string]>([
  ["does not parse", "query { needs {", "Syntax Error: Expected Name, found <EOF>."],
  ["does not fit the schema", "{ needs { totals } }", 'Cannot query field "totals" on type "NeedConnection"'],
  ["asks for a variable that it does not declare", "{ need(needId: $needId) { status } }", "$needId"],
  ["is longer than any may be", `{ __typename } # ${"x".repeat(32_768)}`, "32,768"],
])("a document that %s ends the start, by its file and id", async (_, text, named) => {
  const file = join(dir, "broken.json");
  await put("broken.json", { [idOf(LABELS)]: LABELS, [hashOf(text)]: text });
  for (const graphql of ["at the start", "on demand"] as const) {
    const starting = startAnotherServer(service, { PERSISTED_DOCUMENTS: dir }, { graphql });
    await expect(starting).rejects.toThrow(`${file}: ${idOf(text)}: `);
    await expect(starting).rejects.toThrow(named);
    await expect(starting).rejects.toThrow(/^PERSISTED_DOCUMENTS: [^\n]*$/);
  }
  await rm(file);
});

test("nothing registered, and nothing else answered, ends the start", async () => {
  const none = join(dir, "none");
  await mkdir(none);
  await put("none/empty.json", {});
  const [folder, file] = [none, join(none, "empty.json")];
  for (const path of [folder, file]) {
    const only = { PERSISTED_DOCUMENTS: path, PERSISTED_DOCUMENTS_ONLY: "true" };
    await expect(startAnotherServer(service, only)).rejects.toThrow(
      /^PERSISTED_DOCUMENTS_ONLY: [^\n]* at [^\n]*$/,
    );
  }
  const besides = await startAnotherServer(service, { PERSISTED_DOCUMENTS: folder });
  expect((await post(besides.url, { query: "{ __typename }" })).status).toBe(200);
  await besides.stop();
});

test("a folder that is not there ends the start", async () => {
  const starting = startAnotherServer(service, { PERSISTED_DOCUMENTS: join(dir, "nowhere") });
  await expect(starting).rejects.toThrow(/^PERSISTED_DOCUMENTS: .*ENOENT/);
});
