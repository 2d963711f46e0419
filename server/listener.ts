// The HTTP server itself: how long callers may take to send a request, and how it stops gracefully.
import { randomUUID } from "node:crypto";
import { createServer, ServerResponse, STATUS_CODES } from "node:http";
import type { IncomingMessage, RequestListener, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { boundBody, isUnread, TOO_MUCH } from "./bodies.ts";
import { ApiError } from "./errors.ts";
import { RESPONSE_HEADERS } from "./headers.ts";
import { Pipelining } from "./pipelining.ts";
import { requestOf } from "./request-context.ts";
import { listenTogether } from "./shared-port.ts";

/** How long a caller may take, and how often that is checked; in milliseconds. */
export type Patience = {
  headersMs: number;
  requestMs: number;
  checkMs: number;
  /** to take the next bytes of an answer */
  answerMs: number;
};

type OnRefused = (refusal: ApiError, requestId: string) => void;

const PATIENCE: Patience = { headersMs: 15_000, requestMs: 30_000, checkMs: 5_000, answerMs: 60_000 };

/** How long a caller who was refused may take to read the answer and close. */
const LINGER_MS = 1_000;

/** How long a connection without a request is left open once no new ones are accepted. */
const SILENCE_MS = 1_000;

// So that a query in a URL may be as long as one in a body, and the refusal of a longer one explains itself.
const MAX_HEADER_BYTES = 128 * 1024;

/** How many new connections may be accepted in one iteration of the event loop. */
const SERVERS = 16;

const upgrades = new WeakMap<IncomingMessage, Buffer>();
const known = new WeakSet<Duplex>();

/** Whether a request asks for an upgrade to another protocol that the application may accept. */
export function mayBeTakenOver(request: IncomingMessage): boolean {
  return upgrades.has(request);
}

/**
 * Hands over the connection of a request that asks for an upgrade to another protocol; undefined for other
 * requests.
 */
export function takeOver(
  request: IncomingMessage,
  response: ServerResponse,
): { socket: Socket; head: Buffer } | undefined {
  const head = upgrades.get(request);
  if (!head) return undefined;
  response.detachSocket(request.socket);
  return { socket: request.socket, head };
}

/** Marks the caller of an upgraded connection as known; until then the connection counts as idle. */
export function sayKnown({ socket }: IncomingMessage): void {
  known.add(socket);
}

/**
 * Upgrades that the application may accept; others are answered as if they had asked for none. The path may be written in all the
 * ways in which the application accepts it.
 */
function isUpgrade({ headers, method, url }: IncomingMessage): boolean {
  return (
    method === "GET" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    /^\/graphql\/?(\?|$)/i.test(pathOf(url ?? ""))
  );
}

/**
 * The path that a request asks for. Its target may include the host, as for a proxy. If it is not a URL,
 * Express would answer by itself, unlogged; so it becomes `*`, where there is nothing.
 */
function pathOf(target: string): string {
  if (target.startsWith("/") || target === "*") return target;
  const url = URL.parse(target);
  return url?.pathname.startsWith("/") ? `${url.pathname}${url.search}` : "*";
}

type Options = {
  keepAliveMs: number;
  maxConnections?: number;
  patience?: Patience | undefined;
  onRefused: OnRefused;
};

/** An HTTP server that can be drained. */
export class Listener {
  readonly #servers: [Server, ...Server[]];
  readonly #answering = new Set<ServerResponse>();
  readonly #sockets = new Set<Socket>();
  // The latest response on each connection.
  readonly #answers = new WeakMap<Duplex, ServerResponse>();
  // What else arrives on these is dropped: closing with unread bytes would reset them and lose the answer.
  readonly #refused = new WeakSet<Duplex>();
  readonly #pipelining = new Pipelining();
  /** Bytes received on each connection when it was last checked. */
  readonly #heard = new WeakMap<Socket, number>();
  #isDraining = false;

  /**
   * @param options.maxConnections at a time; beyond that, the connection that has been idle longest is closed
   * @param options.keepAliveMs how long a connection without a request stays open
   * @param options.onRefused called for what was refused before it became a request, which the application
   * never sees
   */
  constructor(app: RequestListener, options: Options) {
    const make = () => this.#makeServer(app, options);
    this.#servers = [make(), ...Array.from({ length: SERVERS - 1 }, make)];
  }

  #makeServer(app: RequestListener, options: Options): Server {
    const { keepAliveMs, maxConnections = Infinity, patience = PATIENCE, onRefused } = options;
    const take: RequestListener = (request, response) => {
      const { socket } = request;
      // It came in the same packet as a request too many, for which the connection was closed.
      if (socket.destroyed) return;
      request.url = pathOf(request.url ?? "");
      this.#answers.set(socket, response);
      // Moved to the end: the connection that has been idle longest comes first.
      this.#sockets.delete(socket);
      this.#sockets.add(socket);
      boundBody(request, response, {
        refuse: () => cutShort(new ApiError("payload_too_large", { message: TOO_MUCH }), response),
        close: () => endSoon(socket),
      });
      const isTaken = this.#pipelining.take(socket, response, () => {
        // The request may have been cut short while it waited.
        if (response.writableEnded) return;
        this.#begin(response);
        app(request, response);
      });
      if (isTaken) return;
      // An answer would have to wait for those before it.
      onRefused(new ApiError("service_busy"), randomUUID());
      socket.destroy();
    };
    const server = createServer(
      {
        ...{ maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: keepAliveMs },
        ...{ headersTimeout: patience.headersMs, requestTimeout: patience.requestMs },
        connectionsCheckingInterval: patience.checkMs,
        // Node would refuse requests without a Host by itself, in its own form and unlogged.
        requireHostHeader: false,
        shouldUpgradeCallback: isUpgrade,
      },
      take,
    );
    // An unknown Expect may be ignored, which is better than Node's own refusal.
    server.on("checkExpectation", take);
    // Through the application, which can refuse it like any other request.
    server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on("error", () => socket.destroy());
      // An earlier request on the connection is not answered yet.
      if (this.#pipelining.isBusy(socket)) {
        socket.destroy();
        return;
      }
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      response.once("finish", () => endSoon(socket));
      upgrades.set(request, head);
      app(request, response);
    });
    server.timeout = patience.answerMs;
    // Nothing was received or sent for that long, which may be while an answer is still being made.
    server.on("timeout", (socket) => {
      // Its answer was not all taken: a reset says so to HTTP/1.0 too.
      if (socket.writableLength > 0) socket.resetAndDestroy();
      else if (!this.#pipelining.isBusy(socket)) socket.destroy();
    });
    server.on("connection", (socket) => {
      if (this.#sockets.size >= maxConnections) {
        onRefused(new ApiError("service_busy"), randomUUID());
        // Idle connections must not keep others out.
        const silent = this.#sockets.values().find((each) => !this.#isInUse(each));
        (silent ?? socket).destroy();
        if (!silent) return;
        this.#sockets.delete(silent);
      }
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      const destroySoon = socket.destroySoon.bind(socket);
      // Node calls this after the last answer. With bytes unread, the answer may be lost.
      socket.destroySoon = () => {
        const isWhole = this.#answers.get(socket)?.req.complete ?? true;
        if (isWhole && !isUnread(socket)) destroySoon();
        else endSoon(socket);
      };
    });
    server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      if (this.#refused.has(socket)) return;
      const latest = this.#answers.get(socket);
      // A request can be answered before all of it has arrived; the connection then waits for the rest.
      const isOver = latest?.writableFinished && latest.req.complete;
      const hasBegun = latest?.headersSent && !isOver;
      // The answer is under way or complete, or the caller has gone.
      if (!socket.writable || hasBegun || error.code === "ECONNRESET") socket.destroy();
      else if (latest && !latest.req.complete) cutShort(refusalOf(error.code), latest);
      else if (latest && this.#pipelining.isBusy(socket)) {
        // A refusal would be taken for the answer to the request before, which is the last one then.
        this.#refused.add(socket);
        latest.shouldKeepAlive = false;
      } else {
        this.#refused.add(socket);
        refuse(refusalOf(error.code), socket, onRefused);
      }
    });
    return server;
  }

  /**
   * Listens, and returns the port.
   * @throws the error from listen, such as EADDRINUSE
   */
  listen(port: number, host: string): Promise<number> {
    return listenTogether(this.#servers, port, host);
  }

  /**
   * Stops: goes on accepting requests for a while, since clients and proxies need a moment to notice; then
   * lets those that have begun come to their end.
   * @param limits.delayMs for how long requests are still accepted
   * @param limits.timeoutMs for how long those that have begun may last after that
   */
  async drain(limits: { delayMs: number; timeoutMs: number }): Promise<void> {
    this.#isDraining = true;
    for (const response of this.#answering) sayLast(response);
    if (limits.delayMs > 0) await sleep(limits.delayMs);
    const closed = Promise.all(
      this.#servers.map((each) => new Promise<void>((done) => void each.close(() => done()))),
    );
    this.#closeIdle();
    const impatience = setTimeout(() => {
      // closeAllConnections() would leave out upgraded connections.
      for (const socket of this.#sockets) socket.resetAndDestroy();
    }, limits.timeoutMs);
    // Requests that were sent before the end may still be on their way; silent connections are not waited
    // for. The check runs in the next iteration of the event loop: after a stall of the process, timers come
    // before data that has arrived meanwhile.
    const look = () => void setImmediate(() => this.#closeSilent());
    const silence = setInterval(look, Math.min(SILENCE_MS, limits.timeoutMs));
    await closed;
    clearTimeout(impatience);
    clearInterval(silence);
  }

  #closeIdle(): void {
    for (const each of this.#servers) each.closeIdleConnections();
  }

  /** Closes connections on which nothing is being answered: for Node one that never sent a byte is not idle. */
  #closeSilent(): void {
    for (const socket of this.#sockets) {
      const latest = this.#answers.get(socket);
      // The latest request may wait behind one that is being answered.
      if (!latest || !this.#pipelining.isBusy(socket)) socket.destroy();
      else if (this.#hasFallenSilent(latest)) cutShort(new ApiError("request_timeout"), latest);
    }
  }

  /** Whether a request is incomplete, and nothing has been received since the last check. */
  #hasFallenSilent({ req, headersSent }: ServerResponse): boolean {
    const { socket, complete, readableFlowing } = req;
    const before = this.#heard.get(socket);
    this.#heard.set(socket, socket.bytesRead);
    return !complete && !headersSent && readableFlowing === true && socket.bytesRead === before;
  }

  #isInUse(socket: Duplex): boolean {
    return this.#pipelining.isBusy(socket) || known.has(socket);
  }

  #begin(response: ServerResponse): void {
    this.#answering.add(response);
    if (this.#isDraining) sayLast(response);
    response.once("close", () => {
      this.#answering.delete(response);
      // An answer that had already begun could not announce that it is the last one on its connection.
      if (this.#isDraining) setImmediate(() => this.#closeIdle());
    });
  }
}

function sayLast(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader("connection", "close");
}

/** Refuses a request that has not arrived completely, so that logs and metrics include it. */
function cutShort(refusal: ApiError, response: ServerResponse): void {
  const context = requestOf(response);
  context?.errors.add(refusal.code);
  const body = JSON.stringify({ ...refusal.toJSON(), requestId: context?.id });
  response.writeHead(refusal.statusCode, headersOf(body)).end(body);
}

/** Answers what never became a request, in the same form as any other refusal. */
function refuse(refusal: ApiError, socket: Duplex, onRefused: OnRefused): void {
  const requestId = randomUUID();
  onRefused(refusal, requestId);
  const body = JSON.stringify({ ...refusal.toJSON(), requestId });
  const head = [
    `HTTP/1.1 ${refusal.statusCode} ${STATUS_CODES[refusal.statusCode]}`,
    ...Object.entries({ ...headersOf(body), [RESPONSE_HEADERS.requestId]: requestId }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
  ];
  endSoon(socket, `${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Ends a connection, and destroys it once the caller has had time to read. */
function endSoon(socket: Duplex, last = ""): void {
  if (socket.writableEnded) return;
  socket.end(last, () => setTimeout(() => socket.destroy(), LINGER_MS).unref());
}

function headersOf(body: string): Record<string, string | number> {
  return {
    connection: "close",
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  };
}

function refusalOf(code: string | undefined): ApiError {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ApiError("request_timeout");
    case "HPE_HEADER_OVERFLOW":
      return new ApiError("headers_too_large");
    default:
      return new ApiError("validation_failed", { message: "The request is not well-formed HTTP." });
  }
}
