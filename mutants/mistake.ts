// A mistake that somebody could make, as data: tests are there to speak when it is made.

/** One mistake in one file. */
export interface Mistake {
  /** the rule that it breaks, as a reviewer would say it */
  rule: string;
  /** from the project's folder */
  file: string;
  /** what stands there once, and what stands there by mistake */
  before: string;
  after: string;
  /** the files in test/ of which one must fail, without their ending */
  tests: readonly string[];
  /** only the tests whose names match this regular expression */
  only?: string;
  /** why no test needs to notice, if none does */
  survives?: string;
}

/** Where a mistake is in its file. @throws if it is nowhere, or in several places */
function place({ file, before }: Mistake, text: string): number {
  const start = text.indexOf(before);
  if (start === -1) throw new Error(`${file} does not contain ${before}`);
  if (text.includes(before, start + 1)) throw new Error(`${file} contains more than once ${before}`);
  return start;
}

/** The file with the mistake in it. */
export function mistaken(mistake: Mistake, text: string): string {
  const start = place(mistake, text);
  return text.slice(0, start) + mistake.after + text.slice(start + mistake.before.length);
}
