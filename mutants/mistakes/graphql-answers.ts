// Mistakes in what GraphQL answers: groups, pages, empty filters, where an error is, and what is first asked in the explorer.
import type { Mistake } from "../mistake.ts";

const EXPLORER = { file: "server/graphql/explorer.ts", tests: ["graphql-explorer"] } as const;
const ERRORS = { file: "server/graphql/errors.ts", tests: ["graphql-errors"] } as const;
const UNAVAILABLE = {
  file: "server/graphql/unavailable.ts",
  tests: ["graphql-errors"],
  only: "is busy's only where",
} as const;

export const GRAPHQL_ANSWERS: readonly Mistake[] = [
  {
    rule: "the numbers of changes are not added up",
    file: "server/graphql/tags.ts",
    before: 'tags: { behavior: "-attribute:aggregate +distinctCount:attribute:aggregate" },',
    after: "tags: {},",
    tests: ["graphql-aggregates"],
    only: "nothing is added up",
  },
  {
    rule: "groups of changes follow one another by when something changed",
    file: "server/graphql/groups.ts",
    before: 'sql.identifier(dateOf(table.codec) ?? "created_at")',
    after: 'sql.identifier("created_at")',
    tests: ["graphql-aggregates"],
    only: "by when something changed",
  },
  {
    rule: "a group of what answers a need leads to that need, and not to its organization",
    file: "server/graphql/group-keys.ts",
    before: "isReferencee || localAttributes[0] !== attributeName",
    after: "isReferencee",
    tests: ["graphql-records"],
    only: "lead to it",
  },
  {
    rule: "a filter that says nothing filters nothing",
    file: "server/graphql/preset.ts",
    before: "connectionFilterAllowEmptyObjectInput: true",
    after: "connectionFilterAllowEmptyObjectInput: false",
    tests: ["graphql-records"],
    only: "nothing in particular",
  },
  {
    rule: "no cache gives one visitor what another was answered",
    file: "server/graphql/http.ts",
    before: '.vary("Accept, Authorization, Cookie")',
    after: '.vary("Accept, Authorization")',
    tests: ["graphql-http"],
    only: "for this key alone",
  },
  {
    rule: "what is wrong in an argument is told with the argument's name",
    file: "server/graphql/arguments.ts",
    before: "pathOf([name, ...at]), message });\n      return;",
    after: "pathOf(at), message });\n      return;",
    tests: ["forms"],
    only: "in a query",
  },
  {
    rule: "a text that is declared may be longer than one that is looked for",
    file: "server/graphql/arguments.ts",
    before: "part.length > BOUNDS.argumentLength && !options.isMutation",
    after: "part.length > BOUNDS.argumentLength",
    tests: ["graphql-bounds"],
    only: "longer than one that is looked for",
  },
  {
    rule: "over GraphQL a mutation may have a name that its client gives it",
    file: "server/graphql/forms.ts",
    before: "const { clientMutationId: _, ...given }",
    after: "const { ...given }",
    tests: ["graphql-errors"],
    only: "the other fields of a request go on",
  },
  {
    ...ERRORS,
    rule: "what fails is told with its field",
    before: "      path: at?.path,\n",
    after: "",
    only: "with its line and column",
  },
  {
    ...ERRORS,
    rule: "an error of syntax is told with its place",
    before: "      positions: at?.positions,\n",
    after: "",
    only: "with its line and column",
  },
  {
    ...ERRORS,
    rule: "what is told in the name of a request keeps its place",
    before: "...{ nodes, source, positions, path },",
    after: "...{ path },",
    only: "with its line and column",
  },
  {
    ...UNAVAILABLE,
    rule: "a request of which a part was refused for another reason is answered",
    before: "told.every((code)",
    after: "told.some((code)",
  },
  {
    ...UNAVAILABLE,
    rule: "a request of which a part was answered is answered",
    before: "    if (Object.values(data ?? {}).some((value) => value !== null)) return result;\n",
    after: "",
  },
  {
    ...UNAVAILABLE,
    rule: "a request of which nothing could be answered is one that failed",
    before: "return { ...result, statusCode: UNAVAILABLE, headers, buffer };",
    after: "return { ...result, headers, buffer };",
  },
  {
    ...EXPLORER,
    rule: "what the explorer first shows can be asked",
    before: "engagementClaims { nodes { description status } }",
    after: "engagementClaims { nodes { claimDescription status } }",
    only: "what it first shows",
  },
  {
    ...EXPLORER,
    rule: "a key in the explorer is not for who signs in next",
    before: '"api-key " + frame.querySelector("header.site").dataset.visitor',
    after: '"api-key"',
    only: "a key stays in the tab",
  },
  {
    ...EXPLORER,
    rule: "a key in the explorer is still there after a reload",
    before: 'field.value = sessionStorage.getItem(KEY) ?? "";',
    after: 'field.value = "";',
    only: "a key stays in the tab",
  },
];
