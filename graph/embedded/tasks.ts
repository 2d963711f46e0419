// What the threads of the embedded store are asked to do, and how they answer.

export interface ThreadOptions {
  /** works only when nothing else has anything to do */
  background: boolean;
  /** shared: how many pieces of answers have been taken out of the hands of the thread */
  taken: Int32Array;
  /** of memory for the engine; undefined: as much as it can address */
  maxBytes?: number;
}

/** How many pieces of an answer may be on their way to the caller; a thread that is ahead by as many waits. */
export const PIECES_IN_FLIGHT = 16;

/** A change to the store; the journal keeps these as they came. A `graph` of null is the default graph. */
export type Change =
  | { kind: "update"; sparql: string }
  | {
      kind: "load";
      graph: string | null;
      type: string;
      data: Uint8Array;
      replace: boolean;
      /** what relative IRIs are relative to; the graph where a journal of 0.1.0 does not say */
      base?: string;
    }
  | { kind: "drop"; graph: string | null };

/**
 * Something to be read from the store; the answer is bytes of the media type asked for. It comes in pieces while it is
 * being made, unless the question is known to be `quick`.
 */
export type Question =
  | { kind: "query"; sparql: string; type: string; answersGraph: boolean; dataset: Dataset; quick: boolean }
  | { kind: "graph"; graph: string | null; type: string };

/** Whether it is one of the service's own, which wait for no caller. */
export function isQuick(question: Question): question is Extract<Question, { kind: "query" }> {
  return question.kind === "query" && question.quick;
}

/** "union": all named graphs are the default graph. "query": what FROM says. Otherwise what the protocol says. */
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
  /** of the last change applied */
  sequence: number;
  /** of a question or a dump, as far as it did not come in pieces; undefined for a graph that does not exist */
  bytes?: Uint8Array;
  /** for a change of one graph: whether the graph existed before */
  existed?: boolean;
  /** of the engine, once it is filled */
  memoryBytes?: number;
  /** how many of these are known to be free, at least */
  freeBytes?: number;
  /** how much more memory the engine took for a change */
  grownBytes?: number;
}

export type Reply =
  { piece: Uint8Array } | { ok: true; answer: Answer } | { ok: false; message: string; fault: Fault };

/**
 * What a failed task says of the thread: nothing; that the engine itself is broken, and the thread's store with it; or
 * that the store is not what it should be, having missed a change or taken one twice.
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

/** The thread ended before it came to the task, which may be put to another one. */
export class NotBegun extends ThreadGone {
  override name = "NotBegun";
}
