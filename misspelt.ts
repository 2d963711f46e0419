// Finds settings whose names were mistyped.

/**
 * Warns of variables that look like a setting but are not one. They are not refused, because other programs
 * set variables too: Kubernetes gives every container some for each service.
 * @param names of all variables that are set
 * @param known the names of all settings
 * @returns a line for each
 */
export function misspelt(names: readonly string[], known: readonly string[]): string[] {
  return names
    .filter((name) => name.includes("_") && !known.includes(name))
    .flatMap((name) => {
      const meant = known.find((each) => each.startsWith(`${name}_`) || isOneSlipAway(name, each));
      return meant ? [`${name}: is not a setting of this service and has no effect; ${meant} is`] : [];
    });
}

/** Whether two names differ by one character that is added, left out, changed, or swapped with its neighbour. */
function isOneSlipAway(one: string, other: string): boolean {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  const [a, b] = [one.slice(start), other.slice(start)];
  return (
    a.slice(1) === b ||
    a === b.slice(1) ||
    a.slice(1) === b.slice(1) ||
    (a[1] ?? "") + (a[0] ?? "") + a.slice(2) === b
  );
}
