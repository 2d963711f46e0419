// What operators read on a terminal: tables, and plans of migrations, which go into a pull request too.
import { expect, test } from "@jest/globals";
import { table } from "../admin/context.ts";
import { planReport } from "../admin/plan-report.ts";
import { changesAnything } from "../db/plan.ts";
import type { Plan } from "../db/plan.ts";

const NOTHING: Plan = { pending: [], changes: [], rows: [], askedBy: {}, untried: [] };
const lines = (...numbers: (number | string)[]) => numbers.map((number) => `line ${number}`).join("\n");

test("a column is as wide as what is widest in it, its heading too, and nothing stands at the end of a line", () => {
  const rows = [
    ["one", 1, null],
    ["more than that", 22, true],
  ];
  expect(table(["name", "a long number", "x"], rows)).toEqual([
    "name            a long number  x",
    "one             1",
    "more than that  22             true",
  ]);
  expect(table(["name"], [])).toEqual(["name"]);
});

test("any of what it has is a change", () => {
  expect(changesAnything(NOTHING)).toBe(false);
  const parts: Partial<Plan>[] = [
    { pending: ["0001_first"] },
    { changes: [{ kind: "table", name: "t", before: null, after: "" }] },
    { rows: [{ table: "t", added: 0, changed: 0, deleted: 1 }] },
    { untried: [{ what: "db/rules", why: "because" }] },
  ];
  for (const part of parts) {
    expect(changesAnything({ ...NOTHING, ...part })).toBe(true);
    expect(planReport({ ...NOTHING, ...part }, "text")[0]).toContain("would change this");
  }
  expect(planReport({ ...NOTHING, askedBy: { "needs:write": ["x"] } }, "text")).toEqual([
    "Migrating would change nothing.",
  ]);
});

test("what is new is told by its name, and by its text where that says more", () => {
  const change = (kind: Plan["changes"][number]["kind"], before: string | null, after: string | null) => ({
    ...{ kind, name: `a ${kind}`, before, after },
  });
  const changes = [
    change("function", null, "create function"),
    change("index", "create index", null),
    change("policy", null, "for select\nusing true"),
    change("column", "text", null),
    change("constraint", null, "check (true)"),
    change("type", null, "'one'"),
    change("view", "select 1\n", "select 1\nwhere true"),
  ];
  expect(planReport({ ...NOTHING, changes }, "text").slice(1)).toEqual([
    ...["", "Policies", "  + a policy", "      +for select", "      +using true"],
    ...["", "Functions", "  + a function"],
    ...["", "Views", "  ~ a view", "       select 1", "      +where true"],
    ...["", "Lists of values", "  + a type", "      +'one'"],
    ...["", "Columns", "  - a column", "      -text"],
    ...["", "Constraints", "  + a constraint", "      +check (true)"],
    ...["", "Indexes", "  - a index"],
  ]);
});

test("of a long text two lines around each difference are shown, and what is left out is marked", () => {
  const [before, after] = [
    lines(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
    lines("1a", 2, 3, 4, 5, 6, 7, 8, 9, 10, "11a"),
  ];
  const changes = [{ kind: "function", name: "f()", before, after } as const];
  expect(planReport({ ...NOTHING, changes }, "text").slice(4)).toEqual(
    [
      ...["-line 1", "+line 1a", " line 2", " line 3", "…"],
      ...[" line 9", " line 10", "-line 11", "+line 11a"],
    ].map((line) => `      ${line}`),
  );
});

test("of a list of rows, which is one line to PostgreSQL, the row that is new is shown", () => {
  const rows = (...codes: string[]) => ` VALUES ${codes.map((code) => `(404,'${code}'::text)`).join(", ")};`;
  const change = {
    kind: "function" as const,
    name: "errors()",
    before: rows("a", "b"),
    after: rows("a", "new", "b"),
  };
  expect(planReport({ ...NOTHING, changes: [change] }, "text").slice(-4)).toEqual([
    "  ~ errors()",
    "        VALUES (404,'a'::text),",
    "      +   (404,'new'::text),",
    "          (404,'b'::text);",
  ]);
});

test("only rows that are written are counted, a single one too", () => {
  const rows = [
    { table: "app_public.users", added: 1, changed: 0, deleted: 2 },
    { table: "app_private.settings", added: 0, changed: 1, deleted: 0 },
  ];
  expect(planReport({ ...NOTHING, rows }, "text").slice(1)).toEqual([
    ...["", "Rows", "  ~ app_public.users: 1 added, 2 deleted", "  ~ app_private.settings: 1 changed"],
  ]);
});

test("as Markdown no text breaks out of its place", () => {
  const changes = [
    { kind: "comment", name: "on `t`", before: "```sql\nselect 1\n```", after: "```" } as const,
    { kind: "permission", name: "organization boss needs:write", before: "", after: null } as const,
  ];
  const plan = { ...NOTHING, changes, untried: [{ what: "db/rules", why: "a `reason`" }] };
  expect(planReport(plan, "markdown").slice(1)).toEqual([
    ...["", "### Not tried", "", "- ? `db/rules: a 'reason'`"],
    ...["", "### Who may do what", ""],
    "- - `boss in an organization loses needs:write, asked for by nothing`",
    ...["", "### Comments", "", "- ~ `on 't'`", "", "  ````diff"],
    ...["  -```sql", "  -select 1", "   ```", "  ````", ""],
  ]);
});
