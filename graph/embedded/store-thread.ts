// Entry point of a thread that holds one Oxigraph store. Tasks are done one after
// another, in the order they come.
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
// Must come first, because it replaces parts of WebAssembly before the engine loads.
import { memoryBytes } from "./memory.ts";
import * as oxigraph from "oxigraph";
import { streamBindings, streamQuads } from "./stream.ts";
import {
  PIECES_IN_FLIGHT,
  type Answer,
  type Change,
  type Dataset,
  type Fault,
  type Question,
  type Reply,
  type Task,
  type ThreadOptions,
} from "./tasks.ts";

const N_QUADS = "application/n-quads";
const BACKGROUND_PRIORITY = 5;
/** In characters. */
const PIECE_LENGTH = 64 * 1024;
/** The base IRI of queries and updates: the same as in Fuseki. */
const BASE = "http://server/unset-base/";
const encoder = new TextEncoder();
const { background, taken } = workerData as ThreadOptions;

let store = new oxigraph.Store();
let sequence = 0;
let piecesSent = 0;

parentPort?.on("message", (task: Task) => {
  let reply: Reply;
  try {
    reply = { ok: true, answer: perform(task) };
  } catch (error) {
    reply = {
      ok: false,
      message: error instanceof Error ? error.message : String(error),
      fault: faultOf(error),
    };
  }
  const bytes = reply.ok ? reply.answer.bytes : undefined;
  parentPort?.postMessage(reply, bytes ? [bytes.buffer as ArrayBuffer] : []);
});

/** This copy is not at the change that a task expects. */
class OutOfStep extends Error {
  constructor(expected: number) {
    super(`This copy of the store is at change ${sequence}, not at ${expected}.`);
  }
}

/**
 * Oxigraph reports a refusal as a plain Error. Anything else is a trap in its WebAssembly instance, after
 * which no store in this thread can be trusted.
 */
function faultOf(error: unknown): Fault {
  if (error instanceof OutOfStep) return "copy";
  return !(error instanceof Error) || error.constructor !== Error || "code" in error ? "engine" : "task";
}

function perform(task: Task): Answer {
  switch (task.kind) {
    case "fill": {
      const options = { format: N_QUADS, lenient: true, no_transaction: true };
      const before = memoryBytes();
      store = new oxigraph.Store();
      store.load("", options);
      // Loading nothing shows how much memory loading itself takes, which is free again afterwards.
      const loading = memoryBytes() - before;
      store.load(task.image.quads, options);
      sequence = task.image.sequence;
      if (background) yieldToOthers();
      return { sequence, memoryBytes: memoryBytes(), freeBytes: loading };
    }
    case "dump":
      return { sequence, bytes: encoder.encode(store.dump({ format: N_QUADS })) };
    case "query":
    case "graph":
      // It may be ahead of `after`.
      if (sequence < task.after) throw new OutOfStep(task.after);
      return { sequence, bytes: answer(task) };
    case "change":
    default: {
      if (sequence + 1 !== (task.sequence ?? sequence + 1)) throw new OutOfStep(task.sequence! - 1);
      const before = memoryBytes();
      const existed = change(task.change, task.checked);
      sequence += 1;
      return { sequence, existed, grownBytes: memoryBytes() - before };
    }
  }
}

/**
 * Lowers this thread's priority for good, where the system allows that (Linux): a query that uses all the
 * time it can get must not take it from the service's other threads.
 */
function yieldToOthers(): void {
  try {
    const thread = Number(readlinkSync("/proc/thread-self").split("/").at(-1));
    setPriority(thread, BACKGROUND_PRIORITY);
  } catch {
    // another system
  }
}

/** @returns the answer, or its last piece if it was long enough to be sent in pieces */
function answer(question: Question): Uint8Array | undefined {
  const { type } = question;
  let text = "";
  const write = (more: string) => {
    text += more;
    if (text.length < PIECE_LENGTH) return;
    send(encoder.encode(text));
    text = "";
  };
  if (question.kind === "graph") {
    const { graph } = question;
    if (graph !== null && !exists(graph)) return undefined;
    const scope = graph === null ? optionsOf("union") : { default_graph: oxigraph.namedNode(graph) };
    streamQuads(store, "CONSTRUCT WHERE { ?s ?p ?o }", scope, type, write);
  } else {
    const { sparql, dataset, quick, answersGraph } = question;
    if (quick)
      return encoder.encode(store.query(sparql, { ...optionsOf(dataset), results_format: type }) as string);
    (answersGraph ? streamQuads : streamBindings)(store, sparql, optionsOf(dataset), type, write);
  }
  return encoder.encode(text);
}

function send(piece: Uint8Array<ArrayBuffer>): void {
  for (;;) {
    const count = Atomics.load(taken, 0);
    if (piecesSent - count < PIECES_IN_FLIGHT) break;
    Atomics.wait(taken, 0, count);
  }
  piecesSent += 1;
  parentPort?.postMessage({ piece } satisfies Reply, [piece.buffer]);
}

function optionsOf(dataset: Dataset) {
  if (dataset === "union") return { base_iri: BASE, use_default_graph_as_union: true };
  if (dataset === "query") return { base_iri: BASE };
  return {
    base_iri: BASE,
    default_graph: dataset.defaultGraphs.map((iri) => oxigraph.namedNode(iri)),
    named_graphs: dataset.namedGraphs.map((iri) => oxigraph.namedNode(iri)),
  };
}

/**
 * @param checked whether the change has already been applied elsewhere, so that its data
 *   is known to be well-formed
 */
function change(operation: Change, checked: boolean): boolean | undefined {
  if (operation.kind === "update") {
    store.update(operation.sparql, { base_iri: BASE });
    return undefined;
  }
  const existed = exists(operation.graph);
  if (operation.kind === "drop") {
    drop(operation.graph);
    return existed;
  }
  const { data, type, graph: target, replace, base = target ?? undefined } = operation;
  if (replace) {
    // No transaction spans the two steps: data that cannot be loaded must be
    // found before anything is dropped.
    if (!checked) for (const _ of oxigraph.parse([data], { format: type, base_iri: base })) void _;
    drop(target);
  }
  store.load(data, {
    format: type,
    base_iri: base,
    to_graph_name: target === null ? oxigraph.defaultGraph() : oxigraph.namedNode(target),
    lenient: replace || checked,
  });
  return existed;
}

function exists(iri: string | null): boolean {
  return store.query(iri === null ? "ASK { ?s ?p ?o }" : `ASK { GRAPH <${iri}> { ?s ?p ?o } }`) as boolean;
}

function drop(iri: string | null): void {
  store.update(iri === null ? "DROP SILENT DEFAULT" : `DROP SILENT GRAPH <${iri}>`);
}
