// What can go wrong between the service and a graph store, as classes to tell apart with `instanceof`.

/** A position in the text that was sent, counted from 1. */
export interface Position {
  line: number;
  column: number;
}

/**
 * The store cannot be reached, failed, or gave an answer that cannot be trusted. Trying again
 * later may help. What the store itself says, which may quote data, comes after the first colon of
 * the message (process/log.ts).
 */
export class GraphUnavailable extends Error {
  override name = "GraphUnavailable";
}

/** Nobody answers at the store's address. */
export class GraphUnreachable extends GraphUnavailable {
  override name = "GraphUnreachable";
}

/** The store has no such dataset, or no such graph in it. */
export class GraphNotFound extends GraphUnavailable {
  override name = "GraphNotFound";
}

/** The store gave no complete answer in time. Whether an update took effect is not known. */
export class GraphTimeout extends GraphUnavailable {
  override name = "GraphTimeout";
}

/** The store read what it was sent and refused it. Sending it again will not help. */
export class GraphRejected extends Error {
  override name = "GraphRejected";
  readonly status: number;
  readonly position: Position | undefined;

  constructor(status: number, message: string, position?: Position) {
    super(message);
    this.status = status;
    this.position = position;
  }
}

/** The store failed on what it was sent; it may not fail on a smaller piece of it. */
export class GraphFailed extends GraphUnavailable {
  override name = "GraphFailed";
}

/** The store says that it made a change, but does not show it. */
export class GraphUnconfirmed extends GraphUnavailable {
  override name = "GraphUnconfirmed";
}

/** Answering takes more than the store has to spend on one request, and always will. */
export class GraphTooExpensive extends GraphRejected {
  override name = "GraphTooExpensive";
}
