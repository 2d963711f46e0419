import { ClientError, GraphQLClient } from "graphql-request";
import type { GraphQLResponse } from "graphql-request";
import type { Answer, TestService } from "./service.ts";

type Scope = keyof TestService["keys"];
type Service = Pick<TestService, "url" | "keys">;
type Outcome = Pick<GraphQLResponse<Answer["body"]>, "status" | "headers" | "body" | "data" | "errors">;
type Request = [service: Service, query: string, variables?: object, scope?: Scope];

function createClient({ url, keys }: Service, scope: Scope = "read"): GraphQLClient {
  return new GraphQLClient(`${url}/graphql`, { headers: { authorization: `Bearer ${keys[scope]}` } });
}

/** Sends a GraphQL request and returns the answer, whether or not it was refused. */
export async function send(...[service, query, variables, scope]: Request): Promise<Outcome> {
  try {
    return await createClient(service, scope).rawRequest(query, variables);
  } catch (error) {
    if (error instanceof ClientError) return error.response;
    throw error;
  }
}

/** Sends a GraphQL request that must succeed and returns its data. */
export function ask(...[service, query, variables, scope]: Request): Promise<Answer["body"]> {
  return createClient(service, scope).request(query, variables);
}

/** Sends a GraphQL request that must be refused and returns [code, status] of its first error. */
export async function refusal(...request: Request): Promise<unknown[]> {
  const { errors } = await send(...request);
  return [errors?.[0]?.extensions["code"], errors?.[0]?.extensions["statusCode"]];
}
