// The ids of what is asked over one WebSocket. A client may begin something else under an id as soon as it has ended what had
// it; the library of the protocol knows one by its id alone, and takes the end of the first for that of the second, which
// could not be ended by its id then. So each has an id of its own here.

/** One operation, as whoever asked for it calls it. */
type Message = { type?: unknown; id: string };

const OWN_ID = /^\{"id":"(\d+)","type":"(\w+)"/;
const LAST = ["complete", "error"];

/** Between a client's ids and those that the library is given. */
export class OperationIds {
  readonly #own = new Map<string, string>();
  readonly #theirs = new Map<string, string>();
  #count = 0;

  /**
   * A message of the client, as the library is to have it.
   * @returns undefined for one that is about nothing that goes on
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
   * A message of the library, as the client is to have it.
   * @returns undefined for one about what the client has ended
   */
  said(text: string): string | undefined {
    const [start, own = "", type = ""] = OWN_ID.exec(text) ?? [];
    if (start === undefined) return text;
    const theirs = this.#theirs.get(own);
    if (theirs === undefined) return undefined;
    if (LAST.includes(type)) this.#forget(own);
    return `{"id":${JSON.stringify(theirs)},"type":"${type}"${text.slice(start.length)}`;
  }

  /** One that goes on keeps its own, by which the library sees that there are two. */
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

/** What is no operation is for the library to answer, or to refuse. */
function isNamed(message: unknown): message is Message {
  if (typeof message !== "object" || message === null || !("id" in message)) return false;
  return typeof message.id === "string" && message.id !== "";
}
