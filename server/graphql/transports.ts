// Transports of subscriptions: WebSocket (the protocol of graphql-ws) at /graphql, and server-sent events
// (the distinct connections mode of graphql-sse) with POST, at /graphql and /graphql/stream.
import { ServerResponse, STATUS_CODES } from "node:http";
import type { Request, RequestHandler, Response } from "express";
import { createHandler } from "graphql-sse/lib/use/express";
import { handleProtocols, makeServer } from "graphql-ws";
import type { ConnectionInitMessage, Server } from "graphql-ws";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import { breakOff } from "../break-off.ts";
import { ApiError, apiErrorFrom } from "../errors.ts";
import { CallerGone } from "../postgres/unavailable.ts";
import type { Guards } from "../door.ts";
import { whenClosed } from "../hang-up.ts";
import { pass } from "../identity/guards.ts";
import { mayBeTakenOver, sayKnown, takeOver } from "../listener.ts";
import type { LoopTurns } from "../loop-turns.ts";
import { LIVE_BOUNDS } from "../live/feed.ts";
import type { Party } from "../live/feed.ts";
import { Places } from "../live/places.ts";
import { halfOf } from "../shares.ts";
import { Conversation } from "./conversation.ts";
import type { Documents } from "./documents.ts";
import { checkForm, EVENTS } from "./http.ts";
import type { Subscriptions } from "./subscriptions.ts";
import { serveWebSocket } from "./websocket.ts";
import type { Extra } from "./websocket.ts";

const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;
const UNAUTHORIZED = 4401;
const FORBIDDEN = 4403;
/**
 * For a key, token or session that was valid and is no longer. Clients of the protocol do not come back after
 * 4401; after this code they do, with the credential that they have then.
 */
const OVER = 4419;
const OTHER_SCOPE = "The scope of this API key has changed; connect again.";
/** In bytes: texts and variables of subscriptions are short. */
const LONGEST_MESSAGE = 100_000;
/**
 * Of one message. Each costs as much as a short message, may be empty, and comes before the caller is known.
 */
const MOST_FRAGMENTS = 100;
/** Of one message or fragment: sent byte by byte, it would be as many chunks as it has bytes. */
const MOST_CHUNKS = 1_000;
/** Bytes that may be buffered before a WebSocket counts as full. */
const EARLY_BYTES = 100_000;
/** nginx and those like it hold answers back; others compress them, which holds them back as well. */
const UNBUFFERED = { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" };
/** How long a subscriber that does not read may take to close. */
const LINGER_MS = 1_000;

/**
 * The close code of an error, with its own code as the reason.
 * @param unidentified the close code for a caller who is not, or no longer, identified
 */
function closing(error: unknown, unidentified: number): [code: number, reason: string] {
  const { statusCode, code } = apiErrorFrom(error);
  if (statusCode === 401) return [unidentified, code];
  return [statusCode === 403 ? FORBIDDEN : TRY_AGAIN_LATER, code];
}

/**
 * Moves a client's input out of an object that the library keeps during the operation but no longer reads.
 */
function takenFrom<T extends object>(kept: T): T {
  const taken = { ...kept };
  for (const name of Object.keys(kept)) Reflect.deleteProperty(kept, name);
  return taken;
}

/** Begins a stream of events with headers that a proxy needs to pass each on at once, and as it is. */
function announceEvents(response: Response): void {
  const writeHead = response.writeHead.bind(response);
  response.writeHead = (status: number, reason?: unknown, given?: unknown) => {
    // graphql-sse names `none`, which is no coding.
    const { "content-encoding": _none, ...headers } = (given ?? {}) as Record<string, string>;
    const isStream = headers["content-type"]?.startsWith(EVENTS) ?? false;
    return writeHead(status, (reason ?? STATUS_CODES[status]) as string, {
      ...headers,
      ...(isStream && UNBUFFERED),
    });
  };
}

/** As with headers, the name may be written in any case. */
function authorizationIn(params: object): unknown {
  return Object.entries(params).find(([name]) => name.toLowerCase() === "authorization")?.[1];
}

type Parts = {
  subscriptions: Subscriptions;
  documents: Documents;
  turns: LoopTurns;
  /** connections that the server may have open */
  maxConnections?: number | undefined;
};

/** The transports of one process. */
export class Transports {
  readonly #subscriptions: Subscriptions;
  readonly #guards: Guards;
  readonly #sockets = new WebSocketServer({
    ...{ noServer: true, maxPayload: LONGEST_MESSAGE, closeTimeout: LINGER_MS },
    ...{ maxFragments: MOST_FRAGMENTS, maxBufferedChunks: MOST_CHUNKS },
    // A packet can hold thousands of messages; other events are handled between them.
    allowSynchronousEvents: false,
    handleProtocols,
  });
  readonly #protocol: Server<Extra>;
  readonly #streams = new Set<Response>();
  readonly #parties = new WeakMap<WebSocket, Party>();
  readonly #conversations = new WeakMap<WebSocket, Conversation>();
  readonly #places: Places;
  #isClosing = false;

  constructor({ subscriptions, documents, turns, maxConnections = Infinity }: Parts, guards: Guards) {
    this.#subscriptions = subscriptions;
    // As many as subscriptions, each of which may have its own connection, but no more than half of all.
    const { ofKey, ofPerson } = LIVE_BOUNDS.subscriptions;
    const half = halfOf(maxConnections);
    const most = { ofKey: Math.min(ofKey, half), ofPerson: Math.min(ofPerson, half) };
    this.#places = new Places(most, "connections for subscriptions");
    this.#guards = guards;
    this.#protocol = makeServer<ConnectionInitMessage["payload"], Extra>({
      onConnect: async ({ connectionParams = {}, extra: { socket, request } }) => {
        const given = authorizationIn(takenFrom(connectionParams));
        try {
          this.#parties.set(socket, await this.#enter(request, socket, given));
          return true;
        } catch (error) {
          socket.close(...closing(error, UNAUTHORIZED));
          return false;
        }
      },
      onSubscribe: async ({ extra: { socket } }, _id, payload) => {
        const asked = takenFrom(payload);
        try {
          // Counted like a request of its own, before it costs anything.
          await this.#conversations.get(socket)!.subscribe();
          checkForm(asked);
          const query = documents.textOf(asked);
          const party = this.#parties.get(socket)!;
          await turns.take(party.identity().id);
          return this.#subscriptions.prepare({ ...asked, query }, party);
        } catch (error) {
          return [this.#subscriptions.refusal(error)];
        }
      },
      subscribe: this.#subscriptions.subscribe,
    });
  }

  /**
   * Accepts an upgrade to WebSocket. Its key may come with the first message: browsers cannot set a header.
   */
  readonly socket: RequestHandler = (request, response, next) => {
    // Refused while HTTP is still spoken on the connection.
    if (this.#isClosing && mayBeTakenOver(request)) throw new ApiError("service_busy");
    const taken = takeOver(request, response);
    if (!taken) return next();
    response.statusCode = 400;
    // Also for an upgrade that `ws` refuses by itself.
    taken.socket.once("close", () => response.emit("close"));
    this.#sockets.handleUpgrade(request, taken.socket, taken.head, (socket) => {
      response.statusCode = 101;
      const conversation = new Conversation(socket, (refusal) => socket.close(...closing(refusal, OVER)));
      this.#conversations.set(socket, conversation);
      serveWebSocket(this.#protocol, { socket, request }, () => {
        conversation.pinged();
        this.#lookAgain(socket);
      });
    });
  };

  readonly stream: RequestHandler = async (request, response) => {
    if (this.#isClosing) throw new ApiError("service_busy");
    whenClosed(response, this.#places.take(request.identity));
    const party: Party = {
      ...this.#letIn(request),
      // graphql-sse writes one event after the other, and keeps the rest where it cannot be measured.
      isReady: () => response.writableLength === 0,
      cut: () => breakOff(response),
    };
    this.#streams.add(response);
    // Writes after the end, or after the caller has gone, may fail without consequence.
    response.on("error", () => undefined);
    response.once("close", () => this.#streams.delete(response));
    const handle = createHandler({
      onSubscribe: (_, asked) => {
        const prepared = this.#subscriptions.prepare(asked, party);
        // The body would be kept in memory as long as the stream.
        request.body = undefined;
        return "schema" in prepared
          ? { ...prepared, contextValue: { party } }
          : { data: null, errors: prepared };
      },
      subscribe: this.#subscriptions.subscribe,
    });
    announceEvents(response);
    await handle(request, response).catch((error: unknown) => {
      if (!request.socket.destroyed) throw error;
    });
  };

  /** Ends all subscriptions, and accepts no more. */
  close(): void {
    this.#isClosing = true;
    for (const socket of this.#sockets.clients) socket.close(GOING_AWAY, "going_away");
    for (const response of this.#streams) response.end();
  }

  async #enter(request: Request, socket: WebSocket, authorization: unknown): Promise<Party> {
    if (typeof authorization === "string") request.headers.authorization = authorization;
    for (const guard of this.#guards.key) await this.#pass(guard, request);
    // If the socket was closed meanwhile, nothing would release what is taken below.
    if (socket.readyState !== socket.OPEN) throw new CallerGone();
    socket.once("close", this.#places.take(request.identity));
    this.#conversations.get(socket)!.enter(request.countAnother);
    sayKnown(request);
    return {
      ...this.#letIn(request),
      isReady: () => socket.bufferedAmount < EARLY_BYTES,
      cut: (error) => socket.close(...closing(error, OVER)),
    };
  }

  /** Rechecks a connection's caller: one without a subscription would otherwise keep its place for ever. */
  #lookAgain(socket: WebSocket): void {
    const party = this.#parties.get(socket);
    party?.recheck().catch((error: unknown) => {
      if (apiErrorFrom(error).statusCode < 500) party.cut(error);
    });
  }

  /** The caller of a request, and a check that they are still authorized in the same role. */
  #letIn(request: Request): Pick<Party, "identity" | "recheck"> {
    const { role } = request.identity;
    const recheck = async () => {
      await this.#pass(this.#guards.again, request);
      // Changes are read once per role, and what has already begun was authorized only for the old one.
      if (request.identity.role !== role) throw new ApiError("invalid_api_key", { message: OTHER_SCOPE });
    };
    return { identity: () => request.identity, recheck };
  }

  /** Runs a guard with a dummy response, which nobody gets. */
  async #pass(guard: RequestHandler, request: Request): Promise<void> {
    const response = Object.setPrototypeOf(
      new ServerResponse(request),
      Object.getPrototypeOf(request.res) as object,
    ) as Response;
    try {
      await pass(guard, request, response);
    } finally {
      response.emit("close");
    }
  }
}
