// Ctrl-C, and whoever else tells a command to end.

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Gives back what a command has opened before a signal ends it. A second one does not break off what the first has begun.
 * @param close what is to be done first
 */
export function closeBeforeTheEnd(close: () => Promise<void>): void {
  let closing: Promise<void> | undefined;
  const stop = (signal: NodeJS.Signals) => {
    closing ??= close().finally(() => {
      // By itself, so that the shell knows what has ended it.
      process.removeAllListeners(signal).kill(process.pid, signal);
    });
  };
  for (const signal of SIGNALS) process.on(signal, stop);
}
