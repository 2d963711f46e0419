// Mistakes in what becomes of a request whose body is still on its way.
import type { Mistake } from "../mistake.ts";

const LATE = { tests: ["late-bodies"] } as const;

export const LATE_BODIES: readonly Mistake[] = [
  {
    ...LATE,
    rule: "whose body has come late is identified once more",
    file: "server/late-bodies.ts",
    before: "if (request.identifyAgain) request.identity = await request.identifyAgain();",
    after: "",
    only: "every door",
  },
  {
    ...LATE,
    rule: "what a caller may do by then is what counts",
    file: "server/late-bodies.ts",
    before: "request.identity = await request.identifyAgain();",
    after: "await request.identifyAgain();",
    only: "a key that may do less",
  },
  {
    ...LATE,
    rule: "SPARQL that comes late is its caller's still",
    file: "server/sparql/request.ts",
    before: "  await knowStill(request);\n",
    after: "",
    only: "every door",
  },
  {
    ...LATE,
    rule: "REST that comes late is its caller's still",
    file: "server/rest/input.ts",
    before: 'import { reading } from "../late-bodies.ts";',
    after: "const reading = <T>(read: T): T => read;",
    only: "every door",
  },
  {
    ...LATE,
    rule: "GraphQL that comes late is its caller's still",
    file: "server/graphql/http.ts",
    before: 'import { reading } from "../late-bodies.ts";',
    after: "const reading = <T>(read: T): T => read;",
    only: "every door",
  },
  {
    ...LATE,
    rule: "a message to the tool that comes late is its caller's still",
    file: "server/mcp/door.ts",
    before: "reading(express.raw({ limit: BODY_LIMIT, type: () => true }))",
    after: "express.raw({ limit: BODY_LIMIT, type: () => true })",
    only: "every door",
  },
  {
    ...LATE,
    rule: "a form that comes late is its visitor's still",
    file: "server/pages/desk.ts",
    before: "[readForm, noteVisitorStill(database), keepWords, requireForm]",
    after: "[readForm, keepWords, requireForm]",
    only: "a form",
  },
  {
    ...LATE,
    rule: "whose session is over is nobody, and not who they were",
    file: "server/pages/visitor.ts",
    before: "    response.locals[VISITOR] = await knowStill(request).then(",
    after: "    await knowStill(request).then(",
    only: "a form",
  },
];
