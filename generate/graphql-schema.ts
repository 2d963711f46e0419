// schema.graphql: what frontends and their tools read; sorted, so that it changes only where the schema does.
import { lexicographicSortSchema, printSchema } from "postgraphile/graphql";
import { createGraphql } from "../server/graphql/door.ts";
import type { Generated } from "./generated.ts";

export const graphqlSchemaFile: Generated = {
  file: "schema.graphql",
  text: async ({ server }) => {
    const graphql = await createGraphql({ pool: server, logger: console });
    try {
      return `${printSchema(lexicographicSortSchema(await graphql.schema()))}\n`;
    } finally {
      await graphql.release();
    }
  },
};
