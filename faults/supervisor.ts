// Keeps a command of the service running, as systemd or a container runtime does:
// whatever ends it, it is restarted.
import { setTimeout as sleep } from "node:timers/promises";
import { launch } from "../test/support/process.ts";
import type { Running } from "../test/support/process.ts";

/** The environment variables of a command. */
export type Settings = Record<string, string>;

const RESTART_AFTER_MS = 200;
const LAST_WORDS = 600;

export class Supervised {
  readonly #script: string;
  readonly #settings: () => Settings;
  #running: Running | undefined;
  #kept: Promise<void> = Promise.resolve();
  #wanted = false;
  #lastWords = "";

  /**
   * @param script the name of a script in package.json
   * @param settings called at every start
   */
  constructor(script: string, settings: () => Settings) {
    this.#script = script;
    this.#settings = settings;
  }

  start(): void {
    this.#wanted = true;
    this.#kept = this.#keep();
  }

  async #keep(): Promise<void> {
    while (this.#wanted) {
      this.#running = launch("npm", ["run", "--silent", this.#script], this.#settings());
      await this.#running.ended;
      const { stdout, stderr } = this.#running.output();
      this.#lastWords = `${stdout}${stderr}`.slice(-LAST_WORDS);
      if (this.#wanted) await sleep(RESTART_AFTER_MS);
    }
  }

  /** Stops it as an operator does; it stays down. */
  async stop(): Promise<void> {
    this.#wanted = false;
    await this.#running?.end("SIGTERM");
    await this.#kept;
  }

  /** Ends it with SIGKILL; it comes back by itself. */
  async kill(): Promise<void> {
    await this.#running?.end("SIGKILL");
  }

  /** The end of what it printed before it last ended, to find out why it is not running. */
  get lastWords(): string {
    return this.#lastWords;
  }
}
