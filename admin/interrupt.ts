// Ctrl-C, and other signals that end a command.

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Closes what a command has opened before a signal ends it. A second signal does not interrupt this.
 * @param close runs before the process ends
 */
export function closeBeforeTheEnd(close: () => Promise<void>): void {
  let closing: Promise<void> | undefined;
  const stop = (signal: NodeJS.Signals) => {
    closing ??= close().finally(() => {
      // By the same signal, so that the shell knows what ended it.
      process.removeAllListeners(signal).kill(process.pid, signal);
    });
  };
  for (const signal of SIGNALS) process.on(signal, stop);
}
