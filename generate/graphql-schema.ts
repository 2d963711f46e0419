// schema.graphql: what frontends and their tools read; sorted, so that it changes only where the schema does.
import { lexicographicSortSchema, printSchema } from "postgraphile/graphql";
import { createGraphql } from "../server/graphql/door.ts";
import { Postgres } from "../server/postgres/postgres.ts";
import type { Generated } from "./generated.ts";

export const graphqlSchemaFile: Generated = {
  file: "schema.graphql",
  text: async ({ server }) => {
    const postgres = new Postgres({
      url: server.options.connectionString!,
      poolSize: 1,
      statementTimeoutMs: 10_000,
      onError: console.error,
    });
    const graphql = await createGraphql({ postgres, logger: console, answerMaxBytes: 1 });
    try {
      return `${printSchema(lexicographicSortSchema(await graphql.schema()))}\n`;
    } finally {
      await graphql.release();
      await postgres.end();
    }
  },
};
