// Tables in documents that are otherwise written by hand, each between <!-- table: name --> and <!-- end -->.

/** @throws when a table has no place, or a place no table */
export function withTables(written: string, tables: Record<string, string>): string {
  const missing = Object.keys(tables).filter((name) => !written.includes(`<!-- table: ${name} -->`));
  if (missing.length > 0) throw new Error(`There is no place for the table ${missing.join(", ")}.`);
  return written.replaceAll(/<!-- table: ([\w-]+) -->\n[\s\S]*?<!-- end -->/g, (_, name: string) => {
    const table = tables[name];
    if (table === undefined) throw new Error(`There is no table ${name} for its place.`);
    return `<!-- table: ${name} -->\n\n${table}\n\n<!-- end -->`;
  });
}

export function code(text: string): string {
  return `\`${text}\``;
}

export function markdown(headings: string[], rows: string[][]): string {
  const widths = headings.map((heading, column) =>
    Math.max(3, heading.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (cells: string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  return [line(headings), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
