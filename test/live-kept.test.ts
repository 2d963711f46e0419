// What is kept of a request while its subscription goes on, which may be as long as the server runs.
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { WebSocket } from "ws";
import { parseWithin } from "../server/graphql/bounds.ts";
import { eventually } from "./support/eventually.ts";
import { startTestService } from "./support/service.ts";
import type { TestService } from "./support/service.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const { parse } = JSON;
const open: { close: () => void }[] = [];
afterEach(() => {
  JSON.parse = parse;
  for (const each of open.splice(0)) each.close();
});

const QUERY = "subscription { changes(after: null) { cursor } }";

/** What is parsed from now on and has a member that nobody asks for, as long as anybody keeps it. */
function unaskedFor(): WeakRef<object>[] {
  const found: WeakRef<object>[] = [];
  // A mock of Jest would keep what it returns.
  JSON.parse = (text, reviver) =>
    parse(text, (name, member: unknown) => {
      if (name === "unasked") found.push(new WeakRef(member as object));
      return reviver ? (reviver(name, member) as unknown) : member;
    }) as unknown;
  return found;
}

async function connected(payload: object): Promise<WebSocket> {
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
  open.push(socket);
  await once(socket, "open");
  const authorization = `Bearer ${service.keys.read}`;
  socket.send(JSON.stringify({ type: "connection_init", payload: { authorization, ...payload } }));
  await once(socket, "message");
  return socket;
}

/** Whether something goes on over a socket: what comes after it is answered. */
async function goesOn(socket: WebSocket): Promise<void> {
  socket.send(JSON.stringify({ type: "ping" }));
  expect(String((await once(socket, "message"))[0])).toContain('"type":"pong"');
}

const UNASKED = { variables: { unasked: [{}] }, extensions: { unasked: [{}] }, unasked: [{}] };

test.each<[string, () => Promise<() => Promise<void>>]>([
  [
    "who connects over WebSocket",
    async () => {
      const socket = await connected(UNASKED);
      return () => goesOn(socket);
    },
  ],
  [
    "a subscription over WebSocket",
    async () => {
      const socket = await connected({});
      const payload = { query: QUERY, ...UNASKED };
      socket.send(JSON.stringify({ id: "1", type: "subscribe", payload }));
      return () => goesOn(socket);
    },
  ],
  [
    "a subscription over server-sent events",
    async () => {
      const asked = request(`${service.url}/graphql/stream`, {
        method: "POST",
        headers: {
          ...{ authorization: `Bearer ${service.keys.read}`, "content-type": "application/json" },
          accept: "text/event-stream",
        },
      });
      open.push({ close: () => void asked.on("error", () => undefined).destroy() });
      asked.end(JSON.stringify({ query: QUERY, ...UNASKED }));
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      expect(answer.statusCode).toBe(200);
      return () => Promise.resolve(expect(answer.resume().complete).toBe(false));
    },
  ],
])("nothing of what it does not ask for is kept of %s", async (_, begin) => {
  const found = unaskedFor();
  const goingOn = await begin();
  await goingOn();
  expect(found.length).toBeGreaterThanOrEqual(3);
  await eventually(() => {
    collect();
    expect(found.filter((unasked) => unasked.deref())).toEqual([]);
  }, 10_000);
  await goingOn();
});

test.each<[string, object]>([
  ["a subscription", { id: "1", type: "subscribe", payload: { query: QUERY, variables: { values: [] } } }],
  ["a ping", { type: "ping", payload: { values: [] } }],
])("%s over WebSocket has 5,000 values at most, and commas in a text are none", async (_, message) => {
  const around = JSON.stringify(message)
    .replaceAll(/"[^"]*"/g, "")
    .replaceAll(/[^[{,]/g, "").length;
  const saying = async (values: number) => {
    const socket = await connected({});
    const closed = once(socket, "close").then(([code]) => code as number);
    const text = JSON.stringify("[{,".repeat(2_000));
    const given = `[${text}${",0".repeat(values - around)}]`;
    socket.send(JSON.stringify(message).replace("[]", given));
    return Promise.race([closed, goesOn(socket)]);
  };
  expect(await saying(5_000)).toBeUndefined();
  expect(await saying(5_001)).toBe(4400);
});

test("a text is kept without its tokens, of which comments are as many as they like", () => {
  const { loc } = parseWithin("# this\n# that\n{ __typename }");
  expect([loc?.startToken, loc?.endToken, loc?.source.body.length]).toEqual([undefined, undefined, 28]);
});
