// HTTP pipelining: requests that a caller sends over one connection without waiting for the answers. HTTP/1.1
// allows it and answers them in order, but Node hands over all requests of a packet at once: up to two
// thousand, which block everybody else.
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { whenClosed } from "./hang-up.ts";

/** How many requests may wait on one connection; browsers and proxies do not pipeline. */
const WAITING = 20;

type Waiting = { response: ServerResponse; begin: () => void };

/** Begins a request when the one before it on its connection is answered and others have had a turn. */
export class Pipelining {
  /** By connection, the requests that wait while one is being answered. */
  readonly #lines = new WeakMap<Duplex, Waiting[]>();

  /** Whether a request on this connection is not answered yet. */
  isBusy(socket: Duplex): boolean {
    return this.#lines.has(socket);
  }

  /**
   * Begins a request when it is its turn.
   * @returns false if too many are waiting on this connection already
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
    // The previous answer may have been the last one on this connection, which is closed then.
    if (socket.writable) this.#begin(socket, next, line);
    else line.length = 0;
  }
}
