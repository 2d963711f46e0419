// The parent's end of a store thread: gives it tasks, enforces time limits, ends it.
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import {
  NotBegun,
  TaskRefused,
  TaskTimeout,
  TaskTooLarge,
  ThreadGone,
  type Answer,
  type Reply,
  type Task,
  type ThreadOptions,
} from "./tasks.ts";

/** For the JavaScript heap, which only ever holds a piece of an answer. */
const HEAP_MB = 256;
const MIB = 1024 * 1024;

const ENTRY = fileURLToPath(new URL("./store-thread.ts", import.meta.url));

interface Pending {
  timeoutMs: number;
  resolve(answer: Answer): void;
  reject(error: Error): void;
  onPiece?: (bytes: Uint8Array) => void;
}

/**
 * One thread with one store. Tasks are answered in the order in which they were asked. The only way to stop a
 * running task is to end the thread, which loses its store.
 */
export class StoreThread {
  readonly #worker: Worker;
  readonly #pending: Pending[] = [];
  readonly #onGone: (thread: StoreThread) => void;
  readonly #taken = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #timer: NodeJS.Timeout | undefined;
  #gone = false;

  /** @param onGone called once, when the thread has ended for any reason */
  constructor(
    { background, maxBytes }: Pick<ThreadOptions, "background" | "maxBytes">,
    onGone: (thread: StoreThread) => void,
  ) {
    this.#worker = new Worker(ENTRY, {
      execArgv: [],
      // Once the engine has taken more than the heap limit, V8 collects garbage at every further 64
      // KiB: a large copy took minutes.
      ...(maxBytes !== undefined && {
        resourceLimits: { maxOldGenerationSizeMb: Math.max(HEAP_MB, maxBytes / MIB) },
      }),
      workerData: { background, maxBytes, taken: this.#taken } satisfies ThreadOptions,
    });
    this.#onGone = onGone;
    this.#worker.on("message", (reply: Reply) => this.#settle(reply));
    this.#worker.on("error", (error: Error & { code?: string }) =>
      this.end(
        error.code === "ERR_WORKER_OUT_OF_MEMORY"
          ? new TaskTooLarge("This is too much for the store (out of memory).")
          : new ThreadGone(error.message),
      ),
    );
    this.#worker.on("exit", () => this.end());
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** How many tasks are running or waiting. */
  get waiting(): number {
    return this.#pending.length;
  }

  /**
   * @param timeoutMs counted from when the thread starts on the task; after that the thread is ended
   * @param onPiece receives all pieces of a streamed answer but the last; taken() must be called
   *   for each before more are sent
   * @throws TaskRefused, TaskTooLarge, TaskTimeout, ThreadGone or its subclass NotBegun
   */
  ask(
    task: Task,
    timeoutMs: number,
    transfer: readonly ArrayBuffer[] = [],
    onPiece?: (bytes: Uint8Array) => void,
  ): Promise<Answer> {
    if (this.#gone) return Promise.reject(new NotBegun("The thread has ended."));
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#pending.push({ timeoutMs, resolve, reject, onPiece });
    this.#worker.postMessage(task, [...transfer]);
    if (this.#pending.length === 1) this.#watchFirst();
    return promise;
  }

  /** Reports that a piece of an answer has left this process, or is no longer wanted. */
  taken(): void {
    Atomics.add(this.#taken, 0, 1);
    Atomics.notify(this.#taken, 0);
  }

  /** Ends the thread at once; its running task fails with `reason`, waiting ones with NotBegun. */
  end(reason: Error = new ThreadGone("The thread was ended.")): void {
    if (this.#gone) return;
    this.#gone = true;
    clearTimeout(this.#timer);
    void this.#worker.terminate();
    const [running, ...waiting] = this.#pending.splice(0);
    running?.reject(reason);
    for (const task of waiting) task.reject(new NotBegun("The thread was ended."));
    this.#onGone(this);
  }

  #settle(reply: Reply): void {
    if (this.#gone) return;
    if ("piece" in reply) {
      this.#pending[0]?.onPiece?.(reply.piece);
      return;
    }
    if (!reply.ok && reply.fault !== "task") {
      this.end(
        reply.fault === "copy"
          ? new NotBegun(reply.message)
          : new TaskTooLarge(`This is too much for the store (${reply.message}).`),
      );
      return;
    }
    const task = this.#pending.shift();
    clearTimeout(this.#timer);
    if (this.#pending.length > 0) this.#watchFirst();
    if (reply.ok) task?.resolve(reply.answer);
    else task?.reject(new TaskRefused(reply.message));
  }

  #watchFirst(): void {
    const { timeoutMs } = this.#pending[0] as Pending;
    this.#timer = setTimeout(() => this.end(new TaskTimeout(`Ended after ${timeoutMs} ms.`)), timeoutMs);
  }
}
