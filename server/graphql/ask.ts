// GraphQL for the pages of this process: a page's query runs, and is limited, as if its visitor had sent it.
import type { Request, Response } from "express";
import { hookArgs, isAsyncIterable } from "postgraphile/grafast";
import type { GraphQLError, GraphQLSchema } from "postgraphile/graphql";
import type { Execution } from "./execution.ts";

/** The result of a query; some of its fields may have been refused. */
export type Answered<Data> = { data?: Data | null | undefined; errors?: readonly GraphQLError[] | undefined };

/** Runs a query as the caller of a request. */
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
