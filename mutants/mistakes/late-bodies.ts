// Mistakes in what becomes of a request whose body, or whose turn, is still to come.
import type { Mistake } from "../mistake.ts";

const LATE = { tests: ["late-bodies"] } as const;

export const LATE_BODIES: readonly Mistake[] = [
  {
    ...LATE,
    rule: "whose body has come late is identified once more",
    file: "server/identity/still-known.ts",
    before: "(known.at !== undefined && performance.now() - known.at < FRESH_MS)",
    after: "true",
    only: "every door",
  },
  {
    ...LATE,
    rule: "what a caller may do by then is what counts",
    file: "server/identity/still-known.ts",
    before: "request.identity = await known.identify();",
    after: "await known.identify();",
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
    before: 'import { reading } from "../identity/still-known.ts";',
    after: "const reading = <T>(read: T): T => read;",
    only: "every door",
  },
  {
    ...LATE,
    rule: "GraphQL that comes late is its caller's still",
    file: "server/graphql/http.ts",
    before: 'import { reading } from "../identity/still-known.ts";',
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
    before: "      response.locals[VISITOR] = undefined;\n",
    after: "",
    only: "a form",
  },
  {
    ...LATE,
    rule: "who has waited for a turn is still who they were",
    file: "server/graphql/door.ts",
    before: "while (await knowStill(request));",
    after: "while (!request.identity);",
    only: "waits for its turn",
  },
  {
    ...LATE,
    rule: "who has been asked for again takes a turn anew: others have had theirs meanwhile",
    file: "server/graphql/door.ts",
    before: "while (await knowStill(request));",
    after: "while (!request.identity);\n    await knowStill(request);",
    only: "waits for its turn",
  },
  {
    ...LATE,
    rule: "nor has who waits for another turn been asked for the last time",
    file: "server/graphql/door.ts",
    before: "while (await knowStill(request));",
    after:
      "while (!request.identity);\n    if (await knowStill(request)) await turns.take(request.identity.id, gone, since);",
    only: "waits for its next turn",
  },
  {
    ...LATE,
    rule: "each message of a batch is its caller's still",
    file: "server/mcp/door.ts",
    before: "          await knowStill(request);\n",
    after: "",
    only: "a batch",
  },
];
