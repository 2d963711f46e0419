// The findings as a table.
import type { Finding } from "./trial.ts";
import type { StoreKind } from "./service.ts";

export type Line = {
  scenario: string;
  store: StoreKind;
  /** undefined: the scenario broke off */
  finding: Finding | undefined;
  right: boolean;
};

const HEADINGS = [
  "scenario",
  "store",
  "fault",
  "acknowledged",
  "no answer",
  "lost",
  "missing",
  "stale",
  "altered",
  "foreign",
  "falsely synced",
  "pending",
  "converged in",
];

function cells({ scenario, store, finding }: Line): string[] {
  if (!finding) return [scenario, store, "broke off", ...HEADINGS.slice(3).map(() => "?")];
  const { variant, acknowledged, unanswered, lost, wrong, falselySynced, seconds } = finding;
  const counts = [acknowledged, unanswered, lost, wrong.missing, wrong.stale, wrong.altered, wrong.foreign];
  const converged = seconds === undefined ? "never" : `${seconds.toFixed(1)} s`;
  return [scenario, store, variant, ...[...counts, falselySynced, wrong.pending].map(String), converged];
}

/** One line for each finding, then what is wrong; `whole` with headings, for Markdown. */
export function report(lines: readonly Line[], form?: "whole"): string {
  const row = (texts: readonly string[]) => `| ${texts.join(" | ")} |`;
  const wrongs = lines.flatMap(({ scenario, finding }) =>
    finding ? [...finding.complaints, ...finding.wrong.examples].map((text) => `  ${scenario}: ${text}`) : [],
  );
  if (form !== "whole") {
    const named = ({ finding }: Line) =>
      HEADINGS.slice(3).map((heading, index) => `${heading} ${cells({ ...lines[0]!, finding })[index + 3]}`);
    return [...lines.map((line) => `  ${cells(line)[2]}: ${named(line).join(", ")}`), ...wrongs].join("\n");
  }
  return [
    row(HEADINGS),
    row(HEADINGS.map(() => "---")),
    ...lines.map((line) => row(cells(line))),
    "",
    ...wrongs,
  ]
    .join("\n")
    .trimEnd();
}
