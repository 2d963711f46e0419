// Operation ids on one WebSocket. A client may reuse an id as soon as it has ended the operation that had it.
// graphql-ws knows an operation by its id alone: it would take the end of the first operation for that of the
// second, which could then not be ended by its id. So here the library gets a unique id for each operation.

/** A message about one operation, with the client's id for it. */
type Message = { type?: unknown; id: string };

const OWN_ID = /^\{"id":"(\d+)","type":"(\w+)"/;
const LAST = ["complete", "error"];

/** Translates between a client's ids and those that the library is given. */
export class OperationIds {
  readonly #own = new Map<string, string>();
  readonly #theirs = new Map<string, string>();
  #count = 0;

  /**
   * A client's message, with the id that the library knows.
   * @returns undefined if its operation is already over
   */
  heard(message: unknown): unknown {
    if (!isNamed(message)) return message;
    if (message.type === "subscribe") message.id = this.#ownOf(message.id);
    else if (message.type === "complete") {
      const own = this.#own.get(message.id);
      if (own === undefined) return undefined;
      this.#forget(own);
      message.id = own;
    }
    return message;
  }

  /**
   * A message of the library, with the id that the client knows.
   * @returns undefined if the client has ended the operation
   */
  said(text: string): string | undefined {
    const [start, own = "", type = ""] = OWN_ID.exec(text) ?? [];
    if (start === undefined) return text;
    const theirs = this.#theirs.get(own);
    if (theirs === undefined) return undefined;
    if (LAST.includes(type)) this.#forget(own);
    return `{"id":${JSON.stringify(theirs)},"type":"${type}"${text.slice(start.length)}`;
  }

  /** A running operation keeps its id, so that the library notices when a client uses an id twice. */
  #ownOf(theirs: string): string {
    const known = this.#own.get(theirs);
    if (known !== undefined) return known;
    const own = String(++this.#count);
    this.#own.set(theirs, own);
    this.#theirs.set(own, theirs);
    return own;
  }

  #forget(own: string): void {
    this.#own.delete(this.#theirs.get(own)!);
    this.#theirs.delete(own);
  }
}

/** Messages that are not about an operation are left to the library to answer or refuse. */
function isNamed(message: unknown): message is Message {
  if (typeof message !== "object" || message === null || !("id" in message)) return false;
  return typeof message.id === "string" && message.id !== "";
}
