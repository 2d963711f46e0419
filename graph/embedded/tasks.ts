// What the threads of the embedded store are asked to do, and how they answer.

export interface ThreadOptions {
  /** works only when nothing else has anything to do */
  background: boolean;
}

/** A change to the store; the journal keeps these as they came. A `graph` of null is the default graph. */
export type Change =
  | { kind: "update"; sparql: string }
  | { kind: "load"; graph: string | null; type: string; data: Uint8Array; replace: boolean }
  | { kind: "drop"; graph: string | null };

/** Something to be read from the store; the answer is bytes of the media type asked for. */
export type Question =
  | { kind: "query"; sparql: string; type: string; dataset: Dataset }
  | { kind: "graph"; graph: string | null; type: string };

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
  | Question
  | { kind: "change"; change: Change; checked: boolean };

export interface Answer {
  /** of the last change applied */
  sequence: number;
  /** of a question or a dump; undefined for a graph that does not exist */
  bytes?: Uint8Array;
  /** for a change of one graph: whether the graph existed before */
  existed?: boolean;
}

export type Reply =
  | { ok: true; answer: Answer }
  /** `broken`: the task killed the engine itself, and the thread's store with it. */
  | { ok: false; message: string; broken: boolean };

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
