// What the database announces on channel api_keys: that a key was issued, changed or deleted.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { closeClient } from "../../db/close.ts";
import type { Connections } from "../postgres/connections.ts";
import { within } from "../../process/patience.ts";
import { DatabaseUnavailable } from "../postgres/unavailable.ts";

const RETRY_MS = 500;
/** How long a connection, and its first answer when the service starts, may take. */
const CONNECT_TIMEOUT_MS = 5_000;
/** How often it is checked that the connection is still there, and how long the answer may take. */
const BEAT_MS = 1_000;
const BEAT_PATIENCE_MS = 1_500;
/** How long an announcement may take to arrive when the service starts. */
const ARRIVAL_MS = 10_000;

/** Announcements do not arrive, so that a revoked key would still be accepted. */
export class NotAnnounced extends Error {
  override name = "NotAnnounced";
}

type Listeners = {
  /** a key has changed */
  changed: (keyId: string) => void;
  /** from now on announcements arrive, or do not */
  listening: (isListening: boolean) => void;
};

/** Listens for changed keys, and connects again whenever the connection is lost. */
export class Announcements {
  readonly #url: string;
  readonly #listeners: Listeners;
  #client: pg.Client | undefined;
  #arrived: ((payload: string) => void) | undefined;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  /** @param url leads directly to PostgreSQL: a pooler in transaction mode silently loses announcements */
  constructor(url: string, listeners: Listeners) {
    this.#url = url;
    this.#listeners = listeners;
  }

  /**
   * Starts listening, and makes sure that an announcement sent through the pool arrives.
   * @throws NotAnnounced when it does not
   */
  async start(connections: Connections): Promise<void> {
    await this.#listen((client) => this.#requireArrival(client, connections));
    if (!this.#client) throw new NotAnnounced("the database cannot be reached for LISTEN");
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    if (this.#client) await closeClient(this.#client);
  }

  /**
   * Makes sure that announcements arrive while the connection is idle: a pooler passes them on to whichever
   * client runs a query just then, which could pass this test by chance.
   */
  async #requireArrival(client: pg.Client, connections: Connections): Promise<void> {
    const nonce = randomUUID();
    const arrival = Promise.withResolvers<boolean>();
    // The connection after this one runs a query every second, so it could pass by chance.
    client.once("end", () => arrival.reject(new NotAnnounced("the connection for LISTEN was lost")));
    arrival.promise.catch(() => undefined);
    this.#arrived = (payload) => {
      if (payload === nonce) arrival.resolve(true);
    };
    await connections.borrow({ caller: "" }, (connection) =>
      connection.run({ text: "select pg_notify('api_keys', $1)", values: [nonce] }),
    );
    const hasArrived = await Promise.race([arrival.promise, sleep(ARRIVAL_MS, false, { ref: false })]);
    this.#arrived = undefined;
    if (!hasArrived) throw new NotAnnounced("notifications of the database (NOTIFY) do not arrive");
  }

  /** @param makeSure checks that announcements arrive, before the connection is used for anything else */
  async #listen(makeSure?: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = new pg.Client({
      ...{ connectionString: this.#url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, keepAlive: true },
    });
    const lost = () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#listeners.listening(false);
      if (!this.#stopped) this.#retry = setTimeout(() => void this.#listen(), RETRY_MS);
    };
    this.#client = client;
    client.on("error", lost);
    client.on("end", lost);
    client.on("notification", ({ payload = "" }) => {
      this.#arrived?.(payload);
      this.#listeners.changed(payload);
    });
    try {
      await client.connect();
      // Whoever starts may do so on a busy machine; later it is only a beat that is missed.
      const patienceMs = makeSure ? CONNECT_TIMEOUT_MS : BEAT_PATIENCE_MS;
      await within(patienceMs, client.query("listen api_keys"), () => new DatabaseUnavailable());
      this.#listeners.listening(true);
    } catch {
      lost();
      client.connection.stream.destroy();
      return;
    }
    await makeSure?.(client);
    void this.#watch(client, lost);
  }

  /** A connection that was cut silently looks like one on which nothing is announced. */
  async #watch(client: pg.Client, lost: () => void): Promise<void> {
    while (this.#client === client) {
      try {
        await within(BEAT_PATIENCE_MS, client.query("listen api_keys"), () => new DatabaseUnavailable());
      } catch {
        lost();
        client.connection.stream.destroy();
        return;
      }
      await sleep(BEAT_MS, undefined, { ref: false });
    }
  }
}
