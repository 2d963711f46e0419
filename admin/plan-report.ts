// What npm run migrate -- --plan prints: for a terminal, or for a pull request.
import { structuredPatch } from "diff";
import type { Change, Plan } from "../db/plan.ts";
import { KINDS } from "../db/snapshot.ts";
import type { Kind } from "../db/snapshot.ts";

export type Form = "text" | "markdown";

const HEADINGS: Record<Kind, string> = {
  permission: "Who may do what",
  policy: "Policies",
  role: "Roles",
  membership: "Roles with the rights of others",
  grant: "Grants",
  function: "Functions",
  trigger: "Triggers",
  view: "Views",
  type: "Lists of values",
  table: "Tables",
  column: "Columns",
  constraint: "Constraints",
  index: "Indexes",
  comment: "Comments",
};

/** Kinds whose definition says more than the name, so that it is shown also when one is added or removed. */
const TOLD_WHOLE: ReadonlySet<Kind> = new Set(["policy", "column", "constraint", "type"]);

/** A line, and the lines of the difference below it. */
type Entry = { line: string; details?: string[] };

/** The report, line by line. */
export function planReport(plan: Plan, form: Form): string[] {
  const sections: [string, Entry[]][] = [
    ["Migrations", plan.pending.map((version) => ({ line: `+ db/migrations/${version}.sql` }))],
    ["Not tried", plan.untried.map(({ what, why }) => ({ line: `? ${what}: ${why}` }))],
    ...KINDS.map((kind): [string, Entry[]] => [
      HEADINGS[kind],
      plan.changes.filter((change) => change.kind === kind).map((change) => entry(change, plan)),
    ]),
    ["Rows", plan.rows.map(({ table, ...counts }) => ({ line: `~ ${table}: ${countsInWords(counts)}` }))],
  ];
  const told = sections.filter(([, entries]) => entries.length > 0);
  if (told.length === 0) return ["Migrating would change nothing."];
  const render = form === "markdown" ? markdown : text;
  return ["Migrating would change this; nothing has been changed.", ...told.flatMap(render)];
}

function text([heading, entries]: [string, Entry[]]): string[] {
  return [
    "",
    heading,
    ...entries.flatMap(({ line, details = [] }) => [
      `  ${line}`,
      ...details.map((detail) => `      ${detail}`),
    ]),
  ];
}

function markdown([heading, entries]: [string, Entry[]]): string[] {
  return [
    "",
    `### ${heading}`,
    "",
    ...entries.flatMap(({ line, details }) => [
      `- ${line.slice(0, 1)} ${code(line.slice(2))}`,
      // The fence is longer than any in the text, and indented into the list.
      ...(details ? ["", "  ````diff", ...details.map((detail) => `  ${detail}`), "  ````", ""] : []),
    ]),
  ];
}

function code(line: string): string {
  return `\`${line.replaceAll("`", "'")}\``;
}

function entry(change: Change, plan: Plan): Entry {
  const { kind, name, before, after } = change;
  const sign = before === null ? "+" : after === null ? "-" : "~";
  if (kind === "permission") return { line: `${sign} ${permissionInWords(change, plan)}` };
  const told = (before !== null && after !== null) || TOLD_WHOLE.has(kind);
  return { line: `${sign} ${name}`, ...(told && { details: difference(before ?? "", after ?? "") }) };
}

/** A change in the tables of permissions in words: which role gains or loses what. */
function permissionInWords({ name, before }: Change, { askedBy }: Plan): string {
  const [where, role, permission = ""] = name.split(" ");
  const place = where === "platform" ? "on the platform" : "in an organization";
  const by = askedBy[permission]?.join(", ") ?? "nothing";
  return `${role} ${place} ${before === null ? "gains" : "loses"} ${permission}, asked for by ${by}`;
}

function countsInWords(counts: Record<string, number>): string {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`)
    .join(", ");
}

function difference(before: string, after: string): string[] {
  const { hunks } = structuredPatch("", "", ending(before), ending(after), "", "", { context: 2 });
  return hunks.flatMap(({ lines }, index) => [...(index > 0 ? ["…"] : []), ...lines]);
}

/**
 * With each row of VALUES in a line of its own: PostgreSQL writes all of them in one, such as all errors of the rules. And with a
 * final line feed, without which the last line would count as changed.
 */
function ending(definition: string): string {
  const rows = definition.replaceAll("), (", "),\n   (");
  return rows === "" || rows.endsWith("\n") ? rows : `${rows}\n`;
}
