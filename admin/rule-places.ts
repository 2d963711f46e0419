// Finds the rules that app_private.authorization_reasons names: their file and line in db/rules.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

export type Place = { file: string; line: number };

const FOLDER = join(import.meta.dirname, "../db/rules");

/** Reads the rules' files as they are now, and returns a function that finds a rule in them. */
export async function rulePlaces(folder = FOLDER): Promise<(rule: string) => Place | null> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).toSorted();
  const texts = await Promise.all(
    files.map(async (file) => ({
      file: `db/rules/${file}`,
      text: await readFile(join(folder, file), "utf8"),
    })),
  );
  return (rule) => {
    for (const pattern of patterns(rule)) {
      for (const { file, text } of texts) {
        const found = pattern.exec(text);
        if (found) return { file, line: text.slice(0, found.index).split("\n").length };
      }
    }
    return null;
  };
}

/** The patterns to look for, the most specific first. */
function patterns(rule: string): RegExp[] {
  const [kind, ...words] = rule.split(" ");
  if (kind === "grant") return [granted(words)];
  const [role, permission] = words.map((word) => literally(word));
  // A permission that a role lacks has no line of its own: find the table where it would be.
  if (role && permission) {
    return [
      new RegExp(`^ *\\('${role}', '${permission}'\\)`, "m"),
      new RegExp(`^insert into app_public\\.${kind}_permissions`, "m"),
    ];
  }
  return [new RegExp(`^create (?:function|view) ${literally(rule)}\\b`, "m")];
}

/** What admits a scope: a policy, or a function's line among the grants. */
function granted(words: string[]): RegExp {
  const [policy, name, , tableName] = words.map((word) => literally(word));
  return name
    ? new RegExp(`^create ${policy} ${name} on app_public\\.${tableName}\\b`, "m")
    : new RegExp(`^  app_(?:public|private)\\.${policy},?$`, "m");
}

function literally(text: string): string {
  return text.replaceAll(/[^\w:/]/g, "\\$&");
}
