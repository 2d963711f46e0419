// The tasks of the embedded store's threads, and their replies.

export interface ThreadOptions {
  /** whether it runs at a lower priority than other threads */
  background: boolean;
  /** shared counter: how many pieces of answers have been passed on or dropped */
  taken: Int32Array;
  /** memory limit of the engine; undefined: as much as it can address */
  maxBytes?: number;
}

/** How many pieces of an answer may be on their way to the caller; a thread that has sent this many waits. */
export const PIECES_IN_FLIGHT = 16;

/** A change to the store, as the journal keeps it. A `graph` of null is the default graph. */
export type Change =
  | { kind: "update"; sparql: string }
  | {
      kind: "load";
      graph: string | null;
      type: string;
      data: Uint8Array;
      replace: boolean;
      /** the base IRI; missing in journals of 0.1.0, where it is the graph's IRI */
      base?: string;
    }
  | { kind: "drop"; graph: string | null };

/**
 * Something to be read from the store; the answer is bytes of the media type asked for. It comes in pieces
 * while it is being made, unless the question is known to be `quick`.
 */
export type Question =
  | { kind: "query"; sparql: string; type: string; answersGraph: boolean; dataset: Dataset; quick: boolean }
  | { kind: "graph"; graph: string | null; type: string };

/** Whether this is one of the service's own questions, which never wait for a slow caller. */
export function isQuick(question: Question): question is Extract<Question, { kind: "query" }> {
  return question.kind === "query" && question.quick;
}

/**
 * "union": the default graph is the union of all named graphs. "query": the query's FROM decides. Otherwise,
 * the graphs named in the request.
 */
export type Dataset = "union" | "query" | { defaultGraphs: string[]; namedGraphs: string[] };

/** Everything in the store as of change number `sequence`, as N-Quads. */
export interface Image {
  sequence: number;
  quads: Uint8Array;
}

export type Task =
  | { kind: "fill"; image: Image }
  | { kind: "dump" }
  /** `after`: the last change that the answer must show */
  | (Question & { after: number })
  /** `sequence`: which change this must be, if it is known */
  | { kind: "change"; change: Change; checked: boolean; sequence?: number };

export interface Answer {
  /** number of the last change applied */
  sequence: number;
  /**
   * the answer to a question or a dump, or the last piece of it; undefined for a graph that does not exist
   */
  bytes?: Uint8Array;
  /** for a change of one graph: whether the graph existed before */
  existed?: boolean;
  /** memory of the engine, once it is filled */
  memoryBytes?: number;
  /** how many bytes of that are known to be free, at least */
  freeBytes?: number;
  /** how much more memory the engine took for a change */
  grownBytes?: number;
}

export type Reply =
  { piece: Uint8Array } | { ok: true; answer: Answer } | { ok: false; message: string; fault: Fault };

/**
 * What is at fault when a task fails: only the task; the engine itself, and with it the thread's store; or
 * the copy, which has missed a change or taken one twice.
 */
export type Fault = "task" | "engine" | "copy";

/** The task is at fault: its syntax, or what it asks for. */
export class TaskRefused extends Error {
  override name = "TaskRefused";
}

/** The task needs more memory or a deeper stack than the engine has; it may have killed the thread. */
export class TaskTooLarge extends Error {
  override name = "TaskTooLarge";
}

/** The task ran longer than allowed; its thread was ended. */
export class TaskTimeout extends Error {
  override name = "TaskTimeout";
}

/** The thread is gone, through no fault of the task. */
export class ThreadGone extends Error {
  override name = "ThreadGone";
}

/** The thread ended before it began the task, which may be given to another one. */
export class NotBegun extends ThreadGone {
  override name = "NotBegun";
}
