// Documents that the operator has registered, which callers may send by id: the appendix "Persisted
// Documents" of GraphQL over HTTP.
import { hash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Config } from "../../config.ts";
import { StartError } from "../../process/part.ts";
import { ApiError } from "../errors.ts";

const invalid = (message: string) => new ApiError("validation_failed", { message });

const idOf = (text: string) => `sha256:${hash("sha256", text, "hex")}`;

/** The parameters of a request that say which text to run, not yet checked. */
type Asked = { query?: unknown; documentId?: unknown };

/** A text, and the file that it was found in. */
type Registered = Readonly<{ text: string; file: string }>;

export class Documents {
  readonly #registered: ReadonlyMap<string, Registered>;
  readonly #isOnly: boolean;

  /** @param isOnly whether all other texts are refused */
  constructor(registered: readonly Registered[] = [], isOnly = false) {
    this.#registered = new Map(registered.map((one) => [idOf(one.text), one]));
    this.#isOnly = isOnly;
  }

  get isEmpty(): boolean {
    return this.#registered.size === 0;
  }

  /**
   * @param problemOf what is wrong with a text by the schema or a bound, if anything
   * @throws StartError with one line that names the first text that could never be answered
   */
  check(problemOf: (text: string) => string | undefined): void {
    for (const [id, { text, file }] of this.#registered) {
      const problem = problemOf(text);
      if (problem !== undefined) throw refusal(file, `${id}: ${problem}`);
    }
  }

  /**
   * The text to run. From here on it makes no difference whether it was sent or registered.
   * @throws ApiError 400 if there is none, 404 for an unknown id, 403 if it is not registered but has to be
   */
  textOf({ query, documentId }: Asked): string {
    if (documentId === undefined || documentId === null) return this.#sent(query);
    if (typeof documentId !== "string") throw invalid("documentId must be a string.");
    // Some protocols require a query, which is empty then.
    if (query !== undefined && query !== null && query !== "")
      throw invalid("Send query or documentId, not both.");
    const registered = this.#registered.get(documentId);
    if (!registered) throw new ApiError("document_not_found");
    return registered.text;
  }

  #sent(query: unknown): string {
    if (typeof query !== "string" || query.trim() === "")
      throw invalid("query must be the text of a GraphQL document.");
    if (this.#isOnly && !this.#registered.has(idOf(query))) throw new ApiError("document_not_registered");
    return query;
  }
}

// As GraphQL Code Generator and others write them, some without the specification's prefix sha256: for ids.
const MANIFEST = z.record(z.string(), z.string());

/**
 * Reads what the operator has registered.
 * @throws StartError with one line that names the file and what is wrong with it, or says that nothing could be answered
 */
export function readDocuments({ path, isOnly }: Config["persistedDocuments"]): Documents {
  if (path === undefined) return new Documents();
  const documents = new Documents(attempt(path, () => manifestsAt(path)).flatMap(readManifest), isOnly);
  if (isOnly && documents.isEmpty) {
    throw new StartError(
      `PERSISTED_DOCUMENTS_ONLY: would refuse every request, since no document is registered at ${path}`,
    );
  }
  return documents;
}

function manifestsAt(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  // One manifest for each client, and for each of its versions that is still in use.
  const names = readdirSync(path).filter((name) => name.endsWith(".json"));
  return names.map((name) => join(path, name));
}

function readManifest(file: string): Registered[] {
  const entries = attempt(file, () => {
    const content = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
    const { data } = MANIFEST.safeParse(JSON.parse(content));
    if (!data) throw new Error("it is not a JSON object that maps ids to texts");
    return Object.entries(data);
  });
  for (const [id, text] of entries) {
    if (id !== idOf(text) && `sha256:${id}` !== idOf(text))
      throw refusal(file, `the id ${JSON.stringify(id)} is not the SHA-256 of its text`);
    if (text.trim() === "") throw refusal(file, `the text of ${JSON.stringify(id)} is empty`);
  }
  return entries.map(([, text]) => ({ text, file }));
}

function attempt<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refusal(file, error instanceof Error ? error.message : String(error));
  }
}

function refusal(file: string, problem: string): StartError {
  const [line] = problem.split("\n");
  return new StartError(
    `PERSISTED_DOCUMENTS: must name a manifest of documents, or a folder of manifests (*.json); ${file}: ${line}`,
  );
}
