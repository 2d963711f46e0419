// Limits how much of a caller's answers may wait in memory to be read: many callers who do not read their
// answers, or a few who read slowly, would otherwise fill it.
import type { RequestHandler, Response } from "express";
import { ApiError } from "../errors.ts";
import { whenClosed } from "../hang-up.ts";

// What the system's own buffers for a connection take. Answers to changes are shorter: they must not be
// refused once the change is made.
const SHORT_BYTES = 65_536;

/**
 * A middleware that refuses requests of a caller with more than `maxBytes` of unread answers: when they
 * arrive, and again when a long answer to them is ready, because a hundred may have arrived before any was
 * answered.
 */
export function limitUndelivered(maxBytes: number): RequestHandler {
  const open = new Map<string, Set<Response>>();
  return (request, response, next) => {
    const { id } = request.identity;
    const answers = open.get(id) ?? new Set();
    const refuseIfFull = () => {
      if (undelivered(answers) > maxBytes) throw unread();
    };
    refuseIfFull();
    open.set(id, answers.add(response));
    whenClosed(response, () => {
      answers.delete(response);
      if (answers.size === 0) open.delete(id);
    });
    beforeAnswer(response, refuseIfFull);
    next();
  };
}

function undelivered(answers: Iterable<Response>): number {
  let bytes = 0;
  for (const answer of answers) bytes += answer.writableLength + (unwritten.get(answer) ?? 0);
  return bytes;
}

const unwritten = new WeakMap<Response, number>();

/** Records how many bytes of a begun answer are still to be written, which also wait in memory. */
export function noteUnwritten(response: Response, bytes: number): void {
  unwritten.set(response, bytes);
}

function unread(): ApiError {
  return new ApiError("service_busy", {
    message:
      "Answers to this API key, or this person, are waiting to be read; read them before asking for more.",
  });
}

/** By response, the check that may refuse to begin the answer. */
const checks = new WeakMap<Response, () => void>();

/**
 * Checks whether an answer of so many bytes may be begun.
 * @throws ApiError service_busy
 */
export function requireRoom(response: Response, bytes: number): void {
  if (bytes > SHORT_BYTES) checks.get(response)?.();
}

/** Runs a check before an answer is sent at once, whichever door gives it; a refusal is answered instead. */
function beforeAnswer(response: Response, check: () => void): void {
  const before = new Set(response.getHeaderNames());
  checks.set(response, () => {
    try {
      check();
    } catch (error) {
      // Those headers are about the answer that is not given.
      for (const name of response.getHeaderNames()) if (!before.has(name)) response.removeHeader(name);
      throw error;
    }
  });
  const end = response.end.bind(response);
  response.end = ((...given: Parameters<typeof end>) => {
    const [chunk] = given as unknown[];
    if (!response.headersSent && (typeof chunk === "string" || chunk instanceof Uint8Array))
      requireRoom(response, chunk.length);
    return end(...given);
  }) as typeof end;
}
