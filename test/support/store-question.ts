// What the threads of the embedded store are asked.
import type { Question } from "../../graph/embedded/tasks.ts";

/** @param quick that it is one of the service's own, which waits for no caller */
export function question(sparql: string, quick = false): Question {
  return { kind: "query", sparql, type: "text/csv", answersGraph: false, dataset: "union", quick };
}
