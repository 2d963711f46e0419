// All generated files, in the order in which one needs another: the server is built on the catalog.
import type { Generated } from "./generated.ts";

export const GENERATED: readonly (() => Promise<Generated>)[] = [
  async () => (await import("./checksums.ts")).checksumsFile,
  async () => (await import("./checksums.ts")).rulesFile,
  async () => (await import("./catalog.ts")).catalogFile,
  async () => (await import("./code-lists.ts")).codeListsFile,
  async () => (await import("./authorization-tables.ts")).authorizationTablesFile,
  async () => (await import("./graph-states.ts")).graphStatesFile,
  async () => (await import("./graphql-schema.ts")).graphqlSchemaFile,
];
