// How much of a request there may be, and what of it is kept while its subscription goes on.
import type { Mistake } from "../mistake.ts";

const SENT = { file: "server/text.ts" };
const KEPT = { file: "server/graphql/transports.ts", tests: ["live-kept"] };

export const LIVE_KEPT: readonly Mistake[] = [
  {
    ...SENT,
    rule: "JSON may have 5,000 values",
    before: "if (values > MOST_VALUES)",
    after: "if (values >= MOST_VALUES)",
    tests: ["mcp-refusals"],
    only: "5,000 values",
  },
  {
    ...SENT,
    rule: "and no more",
    before: "const MOST_VALUES = 5_000;",
    after: "const MOST_VALUES = 5_001;",
    tests: ["mcp-refusals"],
    only: "5,000 values",
  },
  {
    ...SENT,
    rule: "an empty list or object is a value",
    before: '(sign === "[" || sign === "{" || sign === ",")',
    after: '(sign === ",")',
    tests: ["http-answers"],
    only: "5,000 values",
  },
  {
    ...SENT,
    rule: "commas in a text are no values",
    before: 'if (!isString && (sign === "["',
    after: 'if ((sign === "["',
    tests: ["http-answers"],
    only: "5,000 values",
  },
  {
    rule: "what is said over WebSocket has the bounds of a body",
    file: "server/graphql/websocket.ts",
    before: 'const message = parseJson(data, "The message");',
    after: 'const message = (JSON.parse(data.toString()) as unknown) ?? parseJson(data, "The message");',
    tests: ["live-kept"],
    only: "over WebSocket has 5,000",
  },
  {
    ...KEPT,
    rule: "what came with a connection is not kept with it",
    before: "authorizationIn(takenFrom(connectionParams))",
    after: 'connectionParams["authorization"]; takenFrom({})',
    only: "who connects over",
  },
  {
    ...KEPT,
    rule: "what came with a subscription over WebSocket is not kept with it",
    before: "const asked = takenFrom(payload);",
    after: "const asked = payload;",
    only: "subscription over WebSocket$",
  },
  {
    ...KEPT,
    rule: "what came with a stream is not kept with it",
    before: "        request.body = undefined;\n",
    after: "",
    only: "server-sent events$",
  },
  {
    rule: "a subscription keeps no variables but its own",
    file: "server/graphql/subscriptions.ts",
    before: ".filter(([name]) => names.has(name))",
    after: ".filter(([name]) => names.has(name) || name)",
    tests: ["subscription-parts"],
    only: "nothing else that came",
  },
  {
    rule: "a subscription keeps of its text no other operation",
    file: "server/graphql/subscriptions.ts",
    before: 'document: separateOperations(document)[operation.name?.value ?? ""]!,',
    after: "document: document ?? separateOperations,",
    tests: ["subscription-parts"],
    only: "nothing else that came",
  },
  {
    rule: "the tokens of a text are not kept with it",
    file: "server/graphql/bounds.ts",
    before: "    forgetTokens(document);\n",
    after: "",
    tests: ["live-kept"],
    only: "without its tokens",
  },
  {
    rule: "what is a text within a text is refused, for the library would parse it again",
    file: "server/graphql/websocket.ts",
    before: 'if (typeof message === "string") {',
    after: 'if (message === "") {',
    tests: ["graphql-subscriptions"],
    only: "text within a text",
  },
];
