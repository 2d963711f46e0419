import { call } from "./service.ts";
import type { Answer, TestService } from "./service.ts";

/** Sends a GraphQL request and returns its HTTP answer. */
export function send(
  service: TestService,
  query: string,
  variables?: Record<string, unknown>,
  scope: "read" | "write" | "review" = "read",
): Promise<Answer> {
  return call(`${service.url}/graphql`, "POST", service.keys[scope], { query, variables });
}

/** Sends a GraphQL request that must succeed and returns its data. */
export async function ask(...request: Parameters<typeof send>): Promise<Answer["body"]> {
  const { body } = await send(...request);
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return body.data;
}

/** Sends a GraphQL request that must be refused and returns [code, status] of its first error. */
export async function refusal(...request: Parameters<typeof send>): Promise<[string, number]> {
  const { body } = await send(...request);
  const { code, statusCode } = body.errors[0].extensions;
  return [code, statusCode];
}
