// Requests of GraphQL in every shape but the right one, by every transport: each is refused with a code.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { WebSocket } from "ws";
import { call, startTestService } from "./support/service.ts";
import type { Answer, TestService } from "./support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const QUERY =
  "query A($code: String!, $first: Int) { accelerator(code: $code) { code } needs(first: $first) { totalCount } }";
const SUBSCRIPTION = "subscription ($after: String) { changes(after: $after) { cursor } }";

const OF_EVERY_TYPE = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e300,
  "",
  "x",
  "null",
  "[]",
  [],
  ["x"],
  [null],
  {},
  { a: 1 },
];
const isText = (value: unknown) => typeof value === "string";
const isMap = (value: unknown) => typeof value === "object" && !Array.isArray(value);

/** Which values each parameter may have; of a text it depends on the text. */
const WRONG: Record<string, unknown[]> = {
  query: [...OF_EVERY_TYPE.filter((value) => !isText(value)), "", " \n", "{", "{ x }"],
  documentId: OF_EVERY_TYPE.filter((value) => value !== null && !isText(value)),
  operationName: [...OF_EVERY_TYPE.filter((value) => value !== null && !isText(value)), "", "B"],
  variables: OF_EVERY_TYPE.filter((value) => !isMap(value)),
  extensions: OF_EVERY_TYPE.filter((value) => !isMap(value)),
  onError: [...OF_EVERY_TYPE.filter((value) => value !== null), "null", "IGNORE"],
};
const wrongParameters = Object.entries(WRONG).flatMap(([name, values]) =>
  values.map((value) => [`${name} ${JSON.stringify(value)}`, { [name]: value }] as const),
);
const wrongVariables = [
  ...OF_EVERY_TYPE.filter((value) => !isText(value)).map((code) => ({ code })),
  ...OF_EVERY_TYPE.filter((value) => value !== null && value !== 0).map((first) => ({ code: "PRA", first })),
  { code: "PRA", other: 1, first: 2 ** 31 },
  {},
].map((variables) => [`variables ${JSON.stringify(variables)}`, { variables }] as const);

const right = { query: QUERY, variables: { code: "PRA" } };

type Coded = { extensions: { code: unknown } }[];
const codes = (errors: Coded) => [...new Set(errors.map(({ extensions }) => extensions.code))];

/** The codes, of an answer that is nothing but errors. */
function codesOf({ status, headers, body }: Answer): unknown[] {
  expect(status).toBeLessThan(500);
  expect(headers.get("content-type")).toMatch(/json/);
  expect(Object.keys(body as object)).toEqual(["errors"]);
  for (const { message, extensions } of body.errors as Record<string, unknown>[]) {
    expect(message).toEqual(expect.stringMatching(/./));
    expect(extensions).toMatchObject({ requestId: expect.any(String), statusCode: expect.any(Number) });
  }
  return codes(body.errors as Coded);
}

const post = (body: unknown) => call(`${service.url}/graphql`, "POST", service.keys.read, body);
const get = (parameters: string) => call(`${service.url}/graphql?${parameters}`, "GET", service.keys.read);
const stream = (body: unknown) =>
  call(`${service.url}/graphql/stream`, "POST", service.keys.read, body, { accept: "text/event-stream" });

test("the request that is changed below is answered", async () => {
  expect((await post(right)).body).toEqual({ data: expect.anything() });
});

describe.each([
  ["POST", post, right],
  ["the stream", stream, { query: SUBSCRIPTION }],
] as const)("by %s", (_, send, rest) => {
  test.each(OF_EVERY_TYPE.map((body) => JSON.stringify(body)))("a body that is %s", async (body) => {
    expect(codesOf(await send(body))).toEqual(["validation_failed"]);
    expect(codesOf(await send(`[${body}]`))).toEqual(["validation_failed"]);
  });

  test("a batch", async () => {
    expect(codesOf(await send([rest, rest]))).toEqual(["validation_failed"]);
  });
});

describe("by POST", () => {
  test.each([...wrongParameters, ...wrongVariables])("%s", async (_, wrong) => {
    expect(codesOf(await post({ ...right, ...wrong }))).toEqual(["validation_failed"]);
  });

  test.each([null, undefined, "PROPAGATE", "NULL", "HALT"])("onError may be %j", async (onError) => {
    expect((await post({ ...right, onError })).body).toEqual({ data: expect.anything() });
  });
});

test("onError says what becomes of the rest of the answer", async () => {
  const query = "{ a: organizationClaimsForReview { total } needs { totalCount } }";
  const dataOf = async (onError: string) => (await post({ query, onError })).body.data as unknown;
  expect(await dataOf("NULL")).toEqual({ a: null, needs: { totalCount: 0 } });
  expect(await dataOf("HALT")).toBeNull();
});

describe("by GET", () => {
  const texts: [string, string][] = [
    ...WRONG["onError"]!.filter(isText).map((value): [string, string] => ["onError", value]),
    ...["", " ", "{", "{ x }"].map((value): [string, string] => ["query", value]),
    ...["", "B"].map((value): [string, string] => ["operationName", value]),
    ...["variables", "extensions"].flatMap((name) =>
      ["", "{", "x", ...WRONG[name]!.map((value) => JSON.stringify(value))].map((value): [string, string] => [
        name,
        value,
      ]),
    ),
    ...wrongVariables.map(([, { variables }]): [string, string] => ["variables", JSON.stringify(variables)]),
  ];
  const rightTexts = { query: QUERY, variables: '{"code": "PRA"}' };

  test.each(texts)("%s=%s", async (name, value) => {
    const parameters = new URLSearchParams({ ...rightTexts, [name]: value });
    expect(codesOf(await get(parameters.toString()))).toEqual(["validation_failed"]);
  });

  test.each(Object.keys(WRONG))("%s, twice", async (name) => {
    const parameters = new URLSearchParams(rightTexts);
    for (const value of ["{}", "{}"]) parameters.append(name, value);
    expect(codesOf(await get(parameters.toString()))).toEqual(["validation_failed"]);
  });
});

const OF_ANOTHER_TYPE = ["variables of another type", { variables: { after: 1 } }] as const;

describe("as a stream", () => {
  const errorsOf = (answer: Answer) => {
    if (!answer.headers.get("content-type")!.includes("event-stream")) return codesOf(answer);
    const [, data] = /^event: next\ndata: (.*)$/m.exec(answer.body as string)!;
    return codes((JSON.parse(data!) as { errors: Coded }).errors);
  };

  test.each([...wrongParameters, OF_ANOTHER_TYPE])("%s", async (_, wrong) => {
    expect(errorsOf(await stream({ query: SUBSCRIPTION, ...wrong }))).toEqual(["validation_failed"]);
  });

  test("each request that sends a text with a mistake is told so by its own name", async () => {
    const named = async () => {
      const { headers, body } = await stream({ query: "subscription { nothing }" });
      const [, data] = /^event: next\ndata: (.*)$/m.exec(body as string)!;
      const { errors } = JSON.parse(data!) as { errors: { extensions: { requestId: string } }[] };
      expect(errors[0]!.extensions.requestId).toBe(headers.get("x-request-id"));
      return errors[0]!.extensions.requestId;
    };
    expect(await named()).not.toBe(await named());
  });

  test("in a mode that is not served", async () => {
    const headers = { accept: "text/event-stream", "x-graphql-event-stream-token": "token" };
    const answer = await call(
      `${service.url}/graphql/stream?token=token`,
      "POST",
      service.keys.read,
      { query: "subscription { x }" },
      headers,
    );
    expect(errorsOf(answer)).toEqual(["validation_failed"]);
  });
});

describe("over WebSocket", () => {
  /** The codes of what is sent back to one message, or the code that the connection is closed with. */
  async function sent(payload: unknown): Promise<unknown> {
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const say = (message: object) => socket.send(JSON.stringify(message));
    const authorization = `Bearer ${service.keys.read}`;
    socket.on("open", () => say({ type: "connection_init", payload: { authorization } }));
    socket.on("message", (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { type: string; payload: unknown };
      if (message.type === "connection_ack") say({ type: "subscribe", id: "1", payload });
      else if (message.type === "error") resolve(codes(message.payload as Coded));
      else if (message.type === "next") resolve(codes((message.payload as { errors: Coded }).errors));
    });
    socket.on("close", resolve);
    try {
      return await promise;
    } finally {
      socket.terminate();
    }
  }

  /** What its protocol allows in a message; over anything else it has the connection closed. */
  const ALLOWED: Record<string, (value: unknown) => boolean> = {
    ...{ query: isText, operationName: isText },
    ...{ variables: isMap, extensions: isMap },
  };

  test("who names an operation that is not there is told that", async () => {
    const { body } = await stream({ query: SUBSCRIPTION, operationName: "B" });
    expect(String(body)).toContain("operationName must name the operation to answer.");
  });

  test.each([...wrongParameters, OF_ANOTHER_TYPE])("%s", async (_, wrong) => {
    const [[name, value]] = Object.entries(wrong) as [[string, unknown]];
    expect(await sent({ query: SUBSCRIPTION, ...wrong })).toEqual(
      ALLOWED[name]?.(value) === false ? 4400 : ["validation_failed"],
    );
  });
});
