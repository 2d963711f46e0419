// GraphQL for the pages of this process: a query of a page runs as one that its visitor sends to /graphql, within the same bounds.
import type { Request, Response } from "express";
import { hookArgs, isAsyncIterable } from "postgraphile/grafast";
import type { GraphQLError, GraphQLSchema } from "postgraphile/graphql";
import type { Execution } from "./execution.ts";

/** What came of a query; of its fields, some may have been refused. */
export type Answered<Data> = { data?: Data | null | undefined; errors?: readonly GraphQLError[] | undefined };

/** Asks as whoever a request comes from. */
export type AskGraphql = <Data>(
  request: Request,
  response: Response,
  query: string,
) => Promise<Answered<Data>>;

type Parts = {
  execution: Execution;
  schema: GraphQLSchema;
  resolvedPreset: GraphileConfig.ResolvedPreset;
};

/** Answers a query in this process. */
export async function answerWithin<Data>(
  { execution, schema, resolvedPreset }: Parts,
  query: string,
  requestContext: Required<Pick<Grafast.RequestContext, "expressv4">>,
): Promise<Answered<Data>> {
  const { document, errors } = execution.parserOf(schema)(query);
  if (errors) return { errors };
  await requestContext.expressv4.req.countAs(1);
  const args = await hookArgs({ schema, document, resolvedPreset, requestContext });
  const result = await execution.run(args);
  if (isAsyncIterable(result)) throw new Error("An answer to a page has one part.");
  return { data: result.data as Data, errors: result.errors?.map(execution.publicError) };
}
