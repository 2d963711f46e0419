// At places drawn at random: how protocols are described, what a batch is refused with, and tables of the documents.
import type { Mistake } from "../mistake.ts";

type Slip = [only: string, rule: string, before: string, after: string];
const slips = (tests: string, file: string, ...all: Slip[]): Mistake[] =>
  all.map(([only, rule, before, after]) => ({ rule, file, before, after, tests: [tests], only }));

export const PLACES_DRAWN: readonly Mistake[] = [
  ...slips(
    "protocols-described",
    "server/openapi/protocols.ts",
    [
      "tool endpoint",
      "the document says that a batch is answered with a list",
      "schema: z.union([jsonRpcAnswer, jsonRpcAnswers])",
      "schema: jsonRpcAnswer",
    ],
    [
      "tool endpoint",
      "the document says that a batch may be sent",
      "z.union([jsonRpcRequest, jsonRpcBatch])",
      "jsonRpcRequest",
    ],
    [
      "tool endpoint",
      "the document says that what cannot be read is answered without its id",
      "id: jsonRpcId.nullable()",
      "id: jsonRpcId",
    ],
    [
      "tool endpoint",
      "the document says that an id may be a text",
      "const jsonRpcId = z.union([z.string(), z.int()]);",
      "const jsonRpcId = z.int();",
    ],
    [
      "tool endpoint",
      "the document says that a notification has no answer",
      '      "202": { description: "A notification was accepted." },\n',
      "",
    ],
    [
      "tool endpoint",
      "the document says that a notification has no id",
      "    id: jsonRpcId.optional(),",
      "    id: jsonRpcId,",
    ],
    [
      "tool endpoint",
      "the document says that a message may do without params",
      "params: z.looseObject({}).optional()",
      "params: z.looseObject({})",
    ],
    [
      "tool endpoint",
      "the document says how long a batch may be",
      "z.array(jsonRpcRequest).min(1).max(LONGEST_BATCH)",
      "z.array(jsonRpcRequest).min(1)",
    ],
    [
      "tool endpoint",
      "the document says that a batch may not be empty",
      "z.array(jsonRpcRequest).min(1).max(LONGEST_BATCH)",
      "z.array(jsonRpcRequest).max(LONGEST_BATCH)",
    ],
    [
      "SPARQL",
      "the document names every type in which triples are answered",
      "[...BINDING_TYPES.slice(1), ...GRAPH_TYPES]",
      "[...BINDING_TYPES.slice(1), ...GRAPH_TYPES.slice(1)]",
    ],
    [
      "SPARQL",
      "the document names every type in which results are answered",
      "[...BINDING_TYPES.slice(1), ...GRAPH_TYPES]",
      "[...BINDING_TYPES.slice(2), ...GRAPH_TYPES]",
    ],
  ),
  ...slips(
    "mcp-refusals",
    "server/mcp/protocol.ts",
    [
      "to be sent alone",
      "a message that its headers take for one of another revision is not in a batch either",
      'inBatch && route.kind !== "legacy" && !isMalformed',
      'inBatch && route.kind === "modern"',
    ],
    [
      "message by message",
      "whoever sends a malformed message in a batch is told that, and not to send it alone",
      " && !isMalformed) {",
      ") {",
    ],
    [
      "message by message",
      "so is whoever says a revision that is none",
      ' || (route.rung === "envelope" && meta !== undefined)',
      "",
    ],
  ),
  ...slips(
    "reference-as-read",
    "server/pages/docs/schema.ts",
    [
      "the API reference",
      "nought is the least of a range",
      "if (least !== undefined && most !== undefined)",
      "if (least && most !== undefined)",
    ],
    [
      "the API reference",
      "nought is the most of a range",
      "if (least !== undefined && most !== undefined)",
      "if (least !== undefined && most)",
    ],
  ),
  ...slips(
    "generated",
    "docs/authorization.md",
    [
      "which role in the organization",
      "who may manage members is told as it is",
      "| `members:manage`          | yes         | –  ",
      "| `members:manage`          | yes         | yes",
    ],
    [
      "which role in the platform",
      "the columns of the roles on the platform are those of their roles",
      "| permission      | `admin` | `support` |",
      "| permission      | `support` | `admin` |",
    ],
    [
      "with which scope",
      "no function that needs a scope is left out",
      "`check_user`, `claim_organization`, `declare",
      "`claim_organization`, `declare",
    ],
    [
      "which functions a person",
      "who acts is told by the argument that names them",
      "| `declare_need`                   | whom `declared_by_email` names",
      "| `declare_need`                   | whom `actor_email` names",
    ],
  ),
];
