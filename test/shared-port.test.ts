import { afterEach, describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { connect, createServer, Server } from "node:net";
import type { ListenOptions, Socket } from "node:net";
import { Listener } from "../server/listener.ts";
import { listenTogether } from "../server/shared-port.ts";
import { freePort } from "./support/process.ts";

const HOST = "127.0.0.1";

const servers: Server[] = [];
const sockets: Socket[] = [];
const listeners: Listener[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
  for (const each of listeners.splice(0)) await each.drain({ delayMs: 0, timeoutMs: 0 });
});

function made<S extends Server>(server: S): S {
  servers.push(server);
  return server;
}

function dial(port: number): Socket {
  const socket = connect(port, HOST);
  sockets.push(socket.on("error", () => undefined));
  return socket;
}

function makeListener(app: ConstructorParameters<typeof Listener>[0]): Listener {
  const listener = new Listener(app, { keepAliveMs: 600_000, onRefused: () => undefined });
  listeners.push(listener);
  return listener;
}

/** Of a process that is refused a port that others may share, for a reason of the system's. */
class Refused extends Server {
  readonly #code: string;

  constructor(code: string) {
    super();
    this.#code = code;
  }

  override listen(...options: unknown[]): this {
    const [{ reusePort, ...others }] = options as [ListenOptions];
    if (!reusePort) return super.listen(others);
    const error = Object.assign(new Error(`listen ${this.#code}`), { code: this.#code });
    queueMicrotask(() => this.emit("error", error));
    return this;
  }
}

describe("many connections that come at once", () => {
  // Elsewhere one socket has the port.
  const onLinux = process.platform === "linux" ? test : test.skip;

  onLinux(
    "are taken several in a turn of the event loop, so that nobody's new one waits for all of them",
    async () => {
      const COUNT = 64;
      let turn = 0;
      const turns = new Set<number>();
      const answered = Promise.withResolvers<void>();
      let count = 0;
      const port = await makeListener((_request, response) => {
        turns.add(turn);
        response.end();
        if (++count === COUNT) answered.resolve();
      }).listen(0, HOST);
      let isCounting = true;
      const next = () => {
        turn += 1;
        if (isCounting) setImmediate(next);
      };
      next();
      for (let i = 0; i < COUNT; i += 1) dial(port).write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
      await answered.promise;
      isCounting = false;
      expect(turns.size).toBeLessThan(COUNT / 2);
    },
  );

  test("are all answered, and all let go when the listener drains", async () => {
    const listener = makeListener((_request, response) => response.end("here"));
    const port = await listener.listen(0, HOST);
    const open = Array.from({ length: 48 }, () => dial(port));
    await Promise.all(
      open.map(async (socket) => {
        socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        await once(socket, "data");
      }),
    );
    const closed = Promise.all(open.map((socket) => once(socket, "close")));
    await listener.drain({ delayMs: 0, timeoutMs: 600_000 });
    await closed;
    await Promise.all(
      open.map(async () => {
        const socket = dial(port);
        const refused = once(socket, "error") as Promise<[NodeJS.ErrnoException]>;
        const taken = once(socket, "connect").then(() => [{ code: "taken" }]);
        taken.catch(() => undefined);
        const [how] = await Promise.race([refused, taken]);
        expect(how.code).toBe("ECONNREFUSED");
      }),
    );
  });
});

describe("a port", () => {
  test.each(["somebody else's", "one of ours"])("that %s server has is refused", async (whose) => {
    const port =
      whose === "one of ours"
        ? await makeListener((_, response) => response.end()).listen(0, HOST)
        : await listenTogether([made(new Refused("ENOTSUP"))], 0, HOST);
    await expect(makeListener((_, response) => response.end()).listen(port, HOST)).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
  });

  test.each([
    ["the first one", 0],
    ["a later one", 2],
  ])("that %s of its servers cannot have is refused, and none of them listens", async (_, place) => {
    const all = Array.from({ length: 3 }, (__, i) =>
      made(i === place ? new Refused("EMFILE") : new Server()),
    ) as [Server, ...Server[]];
    await expect(listenTogether(all, 0, HOST)).rejects.toMatchObject({ code: "EMFILE" });
    expect(all.map((each) => each.listening)).toEqual([false, false, false]);
  });

  test("that is free is taken as it was asked for", async () => {
    const port = await freePort();
    expect(await makeListener((_, response) => response.end()).listen(port, HOST)).toBe(port);
  });

  test.each([
    ["only one have it", "ENOTSUP"],
    ["only one have it, as Linux before 3.9", "ENOPROTOOPT"],
  ])("is the first server's alone where the system lets %s", async (_, code) => {
    const all: [Server, Server] = [made(new Refused(code)), made(new Refused(code))];
    const port = await listenTogether(all, 0, HOST);
    const [taken] = all;
    const arrived = once(taken, "connection");
    dial(port);
    await arrived;
    expect(all.map(({ listening }) => listening)).toEqual([true, false]);
  });

  test("of no such host is refused with the system's own word", async () => {
    await expect(listenTogether([made(createServer())], 0, "192.0.2.1")).rejects.toMatchObject({
      code: "EADDRNOTAVAIL",
    });
  });
});
