// What is kept of operations, what an answer may read of the same, who is told of changes, where the explorer sends a key, what
// groups are counted by, and what MCP says of itself.
import type { Mistake } from "../mistake.ts";

const EXECUTION = "server/graphql/execution.ts";
const MEASURE = "server/graphql/measure.ts";
const TEXTS = "server/graphql/texts.ts";
const FEED = "server/live/feed.ts";
const CHANNEL = "server/live/channel.ts";
const EXPLORER = "server/graphql/explorer.ts";

const kept = (
  file: string,
  only: string,
  mistakes: readonly (readonly [rule: string, before: string, after: string])[],
): Mistake[] =>
  mistakes.map(([rule, before, after]) => ({
    ...{ rule, file, before, after, only },
    tests: [
      { [FEED]: "live-parts", [CHANNEL]: "live-parts", [EXPLORER]: "graphql-explorer" }[file] ??
        "graphql-execution",
    ],
  }));

export const KEPT: readonly Mistake[] = [
  ...kept(EXECUTION, "kept|displace", [
    ["an operation of fifty fields is a small one", "fields > SMALL.fields", "fields >= SMALL.fields"],
    ["large operations displace no small ones", "? large : small", "? small : small"],
    ["a few large operations are kept", "? large : small", "? small : large"],
    ["a hundred small operations are kept", "operations: 100,", "operations: 99,"],
    ["no more small operations are kept than a hundred", "operations: 100,", "operations: 500,"],
    ["ten large operations are kept", "operations: 10,", "operations: 9,"],
    ["no more large operations are kept than ten", "operations: 10,", "operations: 11,"],
    ["how many operations are kept is bounded", "    operationsCacheMaxLength: operations,\n", ""],
    ["a small operation is kept in three ways", "variants: 3", "variants: 2"],
    ["a small operation is kept in no more ways than three", "variants: 3", "variants: 4"],
    ["a large operation is kept in no more ways than two", "variants: 2", "variants: 3"],
    [
      "in how many ways an operation is kept is bounded",
      "    operationOperationPlansCacheMaxLength: variants,\n",
      "",
    ],
  ]),
  ...kept(EXECUTION, "is measured once", [
    ["an operation is measured once", "this.#constant.set(operation, known);\n", ""],
    [
      "another operation of a text is another, of which it may be that only one is refused",
      "this.#constant.get(operation) ?? orRefusal(made);\n    this.#constant.set(operation, known);",
      "this.#constant.get(document as never) ?? orRefusal(made);\n    this.#constant.set(document as never, known);",
    ],
    ["what is refused is measured once", "if (error instanceof ApiError) return error;\n", ""],
    ["what is refused once is refused again", "if (known instanceof ApiError) throw known;", ""],
    ["with other variables an operation is another", " || operation.variableDefinitions?.length", ""],
  ]),
  ...kept(EXECUTION, "of an answer with", [
    [
      "what a query asks for may be a replica's",
      "if (operation?.operation === OperationTypeNode.QUERY)",
      "if (false)",
    ],
    ["the same in an answer takes of its bytes as often", ".repeats(copies)", ".repeats(1)"],
  ]),
  ...kept(MEASURE, "kept|displace", [
    ["how large an operation is decides where it is kept", "{ fields: this.#fields,", "{ fields: 0,"],
  ]),
  ...kept(MEASURE, "of an answer with", [
    [
      "the same within the same is there as often as both together",
      "alike.length * this.#copiesIn(",
      "alike.length + 0 * this.#copiesIn(",
    ],
    [
      "what is there most often counts, wherever it is",
      "return Math.max(1, ...copies);",
      "return copies.at(-1) ?? 1;",
    ],
    ["the same is the same by whatever name", "alias: undefined, ", ""],
    ["the same is the same on whatever condition", "directives: undefined, ", ""],
    ["the same is the same whatever is read of it", ", selectionSet: undefined }", " }"],
    [
      "the same is the same in whichever order its arguments are",
      "node.arguments?.toSorted((one, other) => (one.name.value < other.name.value ? -1 : 1))",
      "node.arguments",
    ],
    ["what is asked of another is not the same", "arguments: given, alias", "arguments: given && [], alias"],
  ]),
  ...kept(TEXTS, "^texts", [
    ["texts are kept as long as they have half a million characters", "= 500_000;", "= 499_000;"],
    ["no more texts are kept than of half a million characters", "= 500_000;", "= 525_000;"],
    ["a long text takes the room of many short ones", "text.length });", "text.length && 1 });"],
    ["a text that came once is kept", "else if (parsed.document) this.#once.set(text, parsed.document);", ""],
    [
      "a text that came again is displaced by none that came once",
      "this.#inUse.set(text, before);",
      "this.#once.set(text, before);",
    ],
    ["a text in use may have 50,000 characters", "text.length <= LONGEST", "text.length < LONGEST"],
    ["longer texts displace none that are in use", "before && text.length <= LONGEST_IN_USE", "before"],
    ["a text in use has no place among the others", "      this.#once.delete(text);\n", ""],
    ["a text that is used is not the first to go", "this.#inUse.get(text)", "this.#inUse.peek(text)"],
    [
      "refused texts take no place",
      "if (parsed.document) this.#once.set(text, parsed.document)",
      "this.#once.set(text, parsed.document ?? (parsed as never))",
    ],
  ]),
  ...kept(TEXTS, "an operation may have", [
    ["an operation has fourteen levels", "  maxDepth: 14,", "  maxDepth: 13,"],
    ["an operation has no more levels than fourteen", "  maxDepth: 14,", "  maxDepth: 15,"],
    ["an operation has five lists within one another", "maxListDepth: 5", "maxListDepth: 4"],
    ["an operation has no more lists within one another than five", "maxListDepth: 5", "maxListDepth: 6"],
    ["a field may be within itself once", "maxSelfReferentialDepth: 2", "maxSelfReferentialDepth: 1"],
    [
      "a field is not within itself again and again",
      "maxSelfReferentialDepth: 2",
      "maxSelfReferentialDepth: 3",
    ],
    ["introspection asks for nine types within one another", '"__Type.ofType": 9', '"__Type.ofType": 8'],
    ["introspection asks for no more types within one another", '"__Type.ofType": 9', '"__Type.ofType": 10'],
  ]),
  ...kept(FEED, "tells of what comes", [
    ["a need's id is the same in capitals", "needId?.toLowerCase()", "needId"],
    [
      "who asks for an organization is told of that one",
      "(orgUri ?? change.orgUri) === change.orgUri && ",
      "",
    ],
    ["who asks for a need is told of its chain", "(chain ?? change.needId) === change.needId", "true"],
  ]),
  ...kept(FEED, "tells each change once", [
    [
      "what was read already is not told again",
      "placeOf(change.cursor) > read",
      "placeOf(change.cursor) >= read",
    ],
  ]),
  ...kept(FEED, "reads no further", [
    ["a subscription that is ended reads no further", "hasMore && !inbox.isClosed;", "hasMore;"],
  ]),
  ...kept(FEED, "reads for whoever waits", [
    [
      "a subscription outlives the request that it came with",
      "withoutGone(identity), input)",
      "identity, input)",
    ],
    [
      "claims are read as who the reviewer is now",
      "known && (known.subscribers.size > 0 || !claims)",
      "known",
    ],
  ]),
  ...kept(CHANNEL, "cuts off those of a connection", [
    [
      "who may not be told any more is told nothing more",
      "        this.#subscribers.delete(subscriber);\n        subscriber.inbox.close();\n",
      "        void subscriber;\n",
    ],
    [
      "only those are cut off who may not be told any more",
      "        if (subscriber.listener !== listener) continue;\n",
      "",
    ],
    [
      "who is told of something is looked up before",
      "if (page.changes.length > 0 || performance",
      "if (performance",
    ],
  ]),
  {
    rule: "of a subscription that is over nothing waits",
    file: "server/live/inbox.ts",
    before: "    this.#waiting.length = 0;\n    this.#bytes = 0;\n",
    after: "",
    tests: ["live-parts"],
    only: "an inbox that is closed",
  },
  ...kept(EXPLORER, "the key goes along", [
    ["a key in the explorer goes to this service only", "url.origin !== location.origin || ", ""],
    ["a key in the explorer goes to GraphQL only", ' || url.pathname !== "/graphql"', ""],
    [
      "what a request in the explorer says itself about who asks counts",
      'else if (!headers.has("authorization")) headers',
      "else headers",
    ],
    ["blanks around a key are none of it", "field.value.trim()", "field.value"],
  ]),
  {
    rule: "an error of MCP names the request by which it is found in the log",
    file: "server/mcp/protocol.ts",
    before:
      "  return error ? rpcError(id, error.code, error.message, { status: reply.status, data: error.data }) : reply;",
    after: "  return reply;",
    tests: ["mcp-refusals"],
    only: "header that disagrees",
  },
  {
    rule: "whose headers and message of MCP disagree is told where",
    file: "server/mcp/protocol.ts",
    before: "rpcError(request.id, code, message, { status, data })",
    after: "rpcError(request.id, code, message, { status })",
    tests: ["mcp-refusals"],
    only: "name the header",
  },
  {
    rule: "what a tool is called with is an object, and not null",
    file: "server/mcp/protocol.ts",
    before: "if (input !== undefined && !isObject(input)) {",
    after: "if (input !== undefined && input !== null && !isObject(input)) {",
    tests: ["mcp-refusals"],
    only: "and not null",
  },
  ...(
    [
      [
        "what MCP says of itself may be kept by anybody",
        '"server/discover": { ttlMs: HOUR_MS, cacheScope: "public" }',
        '"server/discover": { ttlMs: HOUR_MS, cacheScope: "private" }',
      ],
      [
        "what MCP says of itself may be kept for an hour",
        '"server/discover": { ttlMs: HOUR_MS, cacheScope: "public" },',
        "",
      ],
      ["MCP announces no change of its tools", "listChanged: false", "listChanged: true"],
      [
        "MCP says what it is good for",
        "      instructions: `${CHURCH_TOOL} searches a directory of churches. Nothing can be changed here.`,\n",
        "",
      ],
      [
        "MCP says which version of the service answers",
        "version: packageJson.version }",
        'version: "1.0.0" }',
      ],
    ] as const
  ).map(([rule, before, after]) => ({
    ...{ rule, file: "server/mcp/protocol.ts", before, after },
    tests: ["mcp"],
    only: "is told what answers",
  })),
  {
    rule: "groups are counted by the totals, also where it is said what they have in common",
    file: "server/graphql/totals.ts",
    before: '["keys", "group", "count"]',
    after: '["keys", "count"]',
    tests: ["plans"],
    only: "what it is called",
  },
  {
    rule: "what else is asked of a group is asked of its records",
    file: "server/graphql/totals.ts",
    before: '["keys", "group", "count"]',
    after: '["keys", "group", "count", "distinctCount"]',
    tests: ["graphql-aggregates"],
    only: "read from totals",
  },
  {
    rule: "groups come largest first, also where the order is null",
    file: "server/graphql/groups.ts",
    before: 'orders[asked ?? "COUNT_DESC"]',
    after: 'orders[asked ?? "COUNT_ASC"]',
    tests: ["graphql-aggregates"],
    only: "where no order is asked for",
  },
  {
    rule: "a change belongs to the accelerators of its own record",
    file: "server/graphql/grouping.ts",
    before: "where ${sql.identifier(columnOf(idOf(record)))} = ${id}`;",
    after: "where ${id} is not null`;",
    tests: ["graphql-aggregates"],
    only: "that have changed",
  },
];
