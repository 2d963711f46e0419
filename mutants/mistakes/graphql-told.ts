// Mistakes in subscriptions, in what groups have in common, in the types of lists and in the search of records.
import type { Mistake } from "../mistake.ts";

const SUBSCRIPTIONS = { file: "server/graphql/subscriptions.ts", tests: ["graphql-subscriptions"] } as const;
const OWN = { file: "server/graphql/connections.ts", tests: ["graphql-own-connection"] } as const;
const KEYS = { file: "server/graphql/group-keys.ts", tests: ["graphql-objects"] } as const;
const LISTS = { file: "server/graphql/lists.ts", tests: ["generated"] } as const;
const SEARCH = { file: "server/graphql/search.ts", tests: ["search"] } as const;

export const GRAPHQL_TOLD: readonly Mistake[] = [
  {
    ...SUBSCRIPTIONS,
    rule: "a query is not run where subscriptions are",
    before: "if (operation !== OperationTypeNode.SUBSCRIPTION) {",
    after: "if (operation === OperationTypeNode.MUTATION) {",
    only: "over WebSocket refuses a query",
  },
  {
    ...SUBSCRIPTIONS,
    rule: "a subscription has the bounds of a query",
    before: "measure(this.#schema, document, named, variables ?? {}, new Map());",
    after: "{ copies: named ? 1 : 1 };",
    only: "over WebSocket refuses more names",
  },
  {
    ...SUBSCRIPTIONS,
    rule: "of several subscriptions in a text the named one is begun",
    before: "operationName: operationName ?? null,",
    after: "operationName: null,",
    only: "over WebSocket of several subscriptions",
  },
  {
    ...SUBSCRIPTIONS,
    rule: "who does not take what comes is not sent more",
    before: "|| !this.#party.isReady()",
    after: "",
    only: "over server-sent events: who does not read",
  },
  {
    ...OWN,
    rule: "a connection that breaks under PostGraphile's own question is replaced",
    before: "if (error instanceof DatabaseError) throw error;",
    after: "throw error;",
  },
  {
    ...OWN,
    rule: "what the database refuses PostGraphile is not asked again",
    before: "    if (error instanceof DatabaseError) throw error;\n",
    after: "",
  },
  {
    ...OWN,
    rule: "where no connection lasts the database is away",
    before: "throw cause instanceof DatabaseError ? cause : new DatabaseUnavailable({ cause });",
    after: "throw cause;",
  },
  {
    ...KEYS,
    rule: "a group of a country leads to it",
    before: 'column: /country_code$/, list: "countries", key: "alpha2"',
    after: 'column: /country$/, list: "countries", key: "alpha2"',
  },
  {
    ...KEYS,
    rule: "a group of a people group leads to it",
    before: 'field: "peopleGroup"',
    after: 'field: "country"',
  },
  {
    ...KEYS,
    rule: "what all records have in common is nothing",
    before: "asked.has($group.getClassStep()) ? $group : build.grafast.constant(null)",
    after: "$group",
  },
  {
    ...KEYS,
    rule: "a month has the name of no organization",
    before: 'grouping.suffix === "" ? linkOf',
    after: 'grouping.suffix !== "" ? linkOf',
  },
  {
    ...KEYS,
    rule: "what the records are not grouped by is null",
    before: "const at = (groupBy as readonly string[]).indexOf(name);",
    after: "const at = Math.max(0, (groupBy as readonly string[]).indexOf(name));",
  },
  {
    ...LISTS,
    rule: "a list that is given has no nulls",
    before: "return pgConnectionFilterOperators || isMutationInput",
    after: "return pgConnectionFilterOperators",
  },
  {
    ...LISTS,
    rule: "a record always has its status in the graph",
    before: 'type: new GraphQLNonNull(build.getOutputTypeByName("GraphStatus") as GraphQLEnumType),',
    after: 'type: build.getOutputTypeByName("GraphStatus") as GraphQLEnumType,',
  },
  {
    ...LISTS,
    rule: "what is wrong with a record has a message",
    before: "message: { type: new GraphQLNonNull(GraphQLString)",
    after: "message: { type: GraphQLString",
  },
  {
    ...SEARCH,
    rule: "no words are no search",
    before: " && !$search.evalIs(null)",
    after: "",
    tests: ["search", "graphql-records"],
  },
  {
    ...SEARCH,
    rule: "an order that is asked for comes before the rank",
    before: "order === undefined || order === null || JSON.stringify(order) === byDefault",
    after: "true",
  },
  {
    ...SEARCH,
    rule: "the best match comes first",
    before: 'codec: TYPES.float4, direction: "DESC"',
    after: 'codec: TYPES.float4, direction: "ASC"',
  },
  {
    ...SEARCH,
    rule: "the order by default is no order that was asked for",
    before: " || JSON.stringify(order) === byDefault",
    after: "",
  },
  {
    ...SUBSCRIPTIONS,
    rule: "what is told of a change is told once, or a change would be as many records as a text has names",
    before: '      if (copies > 1) throw new ApiError("validation_failed", { message: TWICE });\n',
    after: "",
    only: "over WebSocket refuses the same twice",
  },
  {
    ...SUBSCRIPTIONS,
    rule: "a subscription is to something, whatever its variables are",
    before: "if (isConditional(document, operationName))",
    after: "if (!document)",
    only: "over WebSocket refuses a condition",
  },
  {
    ...SUBSCRIPTIONS,
    rule: "a condition within a fragment is one",
    before: "if (node.kind !== Kind.FRAGMENT_SPREAD) return false;",
    after: "if (node.kind) return false;",
    only: "over WebSocket refuses a condition",
  },
  {
    file: "server/graphql/subscriptions.ts",
    rule: "others have their turn between the events of a change",
    before: "      await this.#turns.take(this.#party.identity().id, this.#ended);\n",
    after: "",
    tests: ["subscription-parts"],
    only: "caller's turn",
  },
  {
    file: "server/graphql/subscriptions.ts",
    rule: "what others have sent over a connection by then has an event wait",
    before: "} while (this.#isFull());",
    after: "} while (this.#ended.aborted);",
    tests: ["subscription-parts"],
    only: "caller's turn",
  },
  {
    file: "server/identity/rate-limit.ts",
    rule: "a connection has the limit that its key has by now",
    before: "gone: AbortSignal, limit = limitNow()) => {",
    after: "gone: AbortSignal) => {",
    tests: ["graphql-subscriptions"],
    only: "as long as they are let in",
  },
  {
    file: "server/graphql/websocket.ts",
    rule: "who is told of nothing is looked at again",
    before: "    pinged();\n",
    after: "",
    tests: ["graphql-subscriptions"],
    only: "as long as they are let in",
  },
  {
    file: "graph/store-http.ts",
    rule: "what nobody waits for and does not end is read no further",
    before: "          if (unread > MOST_UNREAD) incoming.destroy();\n",
    after: "",
    tests: ["store-answers"],
    only: "goes on and on",
  },
];
