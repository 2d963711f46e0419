// A request of which nothing could be answered, because a dependency is unavailable or busy or the caller is
// over its limit, gets the same status as at every other door: 503 or 429, with Retry-After. Partial answers
// stay 200, as GraphQL over HTTP requires.
import type { ExecutionResult } from "postgraphile/graphql";
import { ERRORS } from "../errors.ts";
import { currentRequest } from "../request-context.ts";

const UNANSWERED = [429, 503];

/** The plugin that gives such answers their status. */
export const UnavailablePlugin: GraphileConfig.Plugin = {
  name: "UnavailablePlugin",
  grafserv: {
    middleware: {
      async processRequest(next) {
        const result = await next();
        const told = [...(currentRequest()?.errors ?? [])];
        const statusCode = UNANSWERED.find((status) => told.every((code) => ERRORS[code][0] === status));
        if (told.length === 0 || statusCode === undefined || result?.type !== "buffer") return result;
        const { data, errors } = JSON.parse(result.buffer.toString()) as ExecutionResult;
        if (Object.values(data ?? {}).some((value) => value !== null)) return result;
        // By that specification, an answer without data means that the request failed, not a field.
        const buffer = Buffer.from(JSON.stringify({ errors }));
        const headers = { ...result.headers, "content-length": String(buffer.length) };
        return { ...result, statusCode, headers, buffer };
      },
    },
  },
};
