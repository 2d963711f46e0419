// Mistakes in what an Idempotency-Key means in GraphQL.
import type { Mistake } from "../mistake.ts";

const ONCE = { file: "server/graphql/once.ts", tests: ["graphql-once"] } as const;
const CONNECTION = { file: "server/graphql/connection.ts", tests: ["graphql-once"] } as const;

export const GRAPHQL_ONCE: readonly Mistake[] = [
  {
    ...{
      rule: "an Idempotency-Key holds in GraphQL too",
      file: "server/graphql/http.ts",
      tests: ["graphql-once"],
    },
    before:
      "  request.body = withText(request.body, documents);\n  request.repeatable = repeatableOf(request, PATH);",
    after: "  request.body = withText(request.body, documents);",
    only: "replays the first answer",
  },
  {
    ...{
      rule: "a query by GET takes no Idempotency-Key",
      file: "server/graphql/http.ts",
      tests: ["graphql-once"],
    },
    before:
      "      readParameters(request, documents);\n      request.repeatable = repeatableOf(request, PATH);",
    after: "      readParameters(request, documents);",
    only: "by GET",
  },
  {
    ...{ rule: "a stream takes no Idempotency-Key", file: "server/graphql/http.ts", tests: ["graphql-once"] },
    before:
      'if (repeatableOf(request, PATH)) throw notRepeatable("goes with a request that has exactly one mutation");',
    after: "",
    only: "as a stream",
  },
  {
    ...{ ...ONCE, rule: "an Idempotency-Key goes with one mutation and not with two" },
    before: "if (number !== 1) {",
    after: "if (!number) {",
    only: "two mutations",
  },
  {
    ...{ ...ONCE, rule: "a mutation in a fragment counts" },
    before: "return [...mutationsOf(document, selectionOf(document, node), variables)];",
    after: "return [];",
    only: "in a fragment|included",
  },
  {
    ...{ ...ONCE, rule: "what is asked for twice under one name is done once" },
    before: "return new Set(names);",
    after: "return new Set(names.map((name, place) => `${name} ${place}`));",
    only: "under one name",
  },
  {
    ...{ ...ONCE, rule: "what is skipped is not done" },
    before: "return !isSkipped && getDirectiveValues",
    after: "return getDirectiveValues",
    only: "skipped",
  },
  {
    ...{ ...ONCE, rule: "what is not included is not done" },
    before: '?.["if"] !== false;',
    after: '?.["if"] !== undefined;',
    only: "included",
  },
  {
    ...{ ...ONCE, rule: "the name of the type is no mutation" },
    before: 'node.name.value === "__typename" ? [] : ',
    after: "",
    only: "its type",
  },
  {
    ...{ ...ONCE, rule: "null is not what a default stands for" },
    before: "body: { query, operationName, variables } }",
    after: "body: { query, operationName, variables: given } }",
    only: "has a default",
  },
  {
    ...{ ...ONCE, rule: "another operation of a text is another request" },
    before: "body: { query, operationName, variables } }",
    after: "body: { query, variables } }",
    only: "another operation",
  },
  {
    ...{ ...ONCE, rule: "an answer with an error in it is not kept, and undoes what it is about" },
    before: "if (result.errors) throw new Undone(result);",
    after: "if (result.errors && !result.data) throw new Undone(result);",
    only: "corrected|may not be read",
  },
  {
    ...{ ...ONCE, rule: "of what was undone nothing is told" },
    before: 'typeof value === "object" ? null : value,',
    after: "value,",
    only: "may not be read",
  },
  {
    ...{ ...ONCE, rule: "no answer is kept that is larger than one may be" },
    before: "if (text.length > BOUNDS.keptLength) {",
    after: "if (text.length > BOUNDS.keptLength * 10) {",
    only: "too large to be kept",
  },
  {
    ...{ ...ONCE, rule: "an answer of REST is none of GraphQL" },
    before: 'if (!("data" in kept)) throw new ApiError("idempotency_key_reused");',
    after: "",
    only: "the version before",
  },
  {
    ...{ ...CONNECTION, rule: "a mutation and the keeping of its answer are one transaction" },
    before: 'await run("begin");',
    after: "",
    only: "lost|may not be read",
  },
  {
    ...{ ...CONNECTION, rule: "a request with a key does not rest on what it has locked" },
    before: "if (!this.#isWhole) await this.#orStopped(connection.rest());",
    after: "await this.#orStopped(connection.rest());",
    only: "rests at no time",
  },
  {
    ...{ ...CONNECTION, rule: "an answer is kept" },
    before: 'await run("select app_private.keep_answer($1, $2, $3)", [this.#caller, key, answer]);',
    after: "",
    only: "replays the first answer",
  },
  {
    ...{ ...CONNECTION, rule: "what fails because something else has failed is called what that is called" },
    before: "if (this.#failed) throw this.#failed;",
    after: "",
    only: "may not be read",
  },
  {
    rule: "what has locked something reads for a fifth of the time that others may",
    file: "server/graphql/connection.ts",
    before: "          this.#msLeft *= WHOLE;\n",
    after: "",
    tests: ["graphql-once"],
    only: "longer than a fifth",
  },
  {
    rule: "no claim waits for what another reads",
    file: "server/graphql/connection.ts",
    before: '          await run("set constraints all deferred");\n',
    after: "",
    tests: ["graphql-once"],
    only: "no claim waits",
  },
  {
    rule: "what is put off to the end of a transaction has its time limit, and is refused as what was asked",
    file: "server/graphql/connection.ts",
    before:
      '          await this.#inTurn(() => this.#run(connection, { text: "set constraints all immediate" }));\n',
    after: "",
    tests: ["graphql-once"],
    only: "what counts the mails is locked",
  },
];
