// HTTP pipelining: requests that a caller sends over one connection without waiting for the answers. HTTP/1.1 allows it and answers them in
// order, but Node hands over all that a packet holds at once: two thousand requests, and nobody else has a turn meanwhile.
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { whenClosed } from "./hang-up.ts";

/** How many may wait on one connection; no browser and no proxy has any wait. */
const WAITING = 20;

type Waiting = { response: ServerResponse; begin: () => void };

/** Begins what comes over a connection when what came before is answered, and everybody else has had a turn. */
export class Pipelining {
  /** By connection, those that wait while one is being answered. */
  readonly #lines = new WeakMap<Duplex, Waiting[]>();

  /** Whether something that came over this connection is not answered yet. */
  isBusy(socket: Duplex): boolean {
    return this.#lines.has(socket);
  }

  /**
   * Begins in its turn what came over a connection.
   * @returns whether it will; not if too many wait there already
   */
  take(socket: Duplex, response: ServerResponse, begin: () => void): boolean {
    const line = this.#lines.get(socket);
    if (!line) this.#begin(socket, { response, begin }, []);
    else if (line.length < WAITING) line.push({ response, begin });
    else return false;
    return true;
  }

  #begin(socket: Duplex, { response, begin }: Waiting, line: Waiting[]): void {
    this.#lines.set(socket, line);
    whenClosed(response, () => {
      const next = line.shift();
      if (!next) this.#lines.delete(socket);
      else setImmediate(() => this.#goOn(socket, next, line));
    });
    begin();
  }

  #goOn(socket: Duplex, next: Waiting, line: Waiting[]): void {
    // The answer before may have been the last on this connection, which is then nobody's.
    if (socket.writable) this.#begin(socket, next, line);
    else line.length = 0;
  }
}
