// Turns of the event loop: whoever leaves them to others is seen in how many there have been, however fast the machine is.

/** Counts the turns of the event loop from now on. */
export function countTurns(): { turns: () => number; stop: () => void } {
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  return { turns: () => turns, stop: () => clearImmediate(next) };
}
