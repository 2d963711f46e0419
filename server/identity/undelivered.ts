// How much of what a key asked for may wait in memory for it to be read: many callers who do not read their answers, or a
// few who read slowly, would otherwise fill it.
import type { RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import { whenClosed } from "../hang-up.ts";
import { RESPONSE_HEADERS } from "../headers.ts";

/** A middleware that refuses requests of a key with more than so many bytes of answers still to be read. */
export function limitUndelivered(maxBytes: number): RequestHandler {
  const open = new Map<string, Set<Response>>();
  return (request, response, next) => {
    const { keyId } = request.identity;
    const answers = open.get(keyId) ?? new Set();
    let bytes = 0;
    for (const answer of answers) bytes += answer.writableLength;
    if (bytes > maxBytes) {
      throw new ApiError("service_busy", {
        message: "Answers to this API key are waiting to be read; read them before asking for more.",
        headers: { [RESPONSE_HEADERS.retryAfter]: "1" },
      });
    }
    open.set(keyId, answers.add(response));
    whenClosed(response, () => {
      answers.delete(response);
      if (answers.size === 0) open.delete(keyId);
    });
    next();
  };
}
