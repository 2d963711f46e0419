// What a door reads otherwise than its caller or the store, or does not tell.
import type { Mistake } from "../mistake.ts";

const PARSER = { file: "graph/sparql-parser.ts", tests: ["sparql"] };
const MCP = { file: "server/mcp/protocol.ts", tests: ["mcp-refusals"], only: "nobody knows" };
const MAILS = { file: "worker/tasks/mail.ts", tests: ["worker-tasks"], only: "waits for a migration" };
const READ = { ...PARSER, only: "whatever SPARQL can be written in" };

export const AT_THE_DOORS: readonly Mistake[] = [
  {
    ...READ,
    rule: "a decimal needs no digit before its point",
    before: "Decimal: /\\d*",
    after: "Decimal: /\\d+",
  },
  {
    ...READ,
    rule: "a decimal with a plus needs no digit before its point",
    before: "\\+\\d*",
    after: "\\+\\d+",
  },
  {
    ...READ,
    rule: "a decimal with a minus needs no digit before its point",
    before: "/-\\d*",
    after: "/-\\d+",
  },
  {
    ...PARSER,
    rule: "a comment ends with a carriage return, as it does for the store",
    before: "Comment: /#[^\\r\\n]*/",
    after: "Comment: /#[^\\n]*/",
    only: "SERVICE is 403",
  },
  {
    ...READ,
    rule: "between the two words of NOT EXISTS may be as many spaces, lines and comments as one likes",
    before: "`not${BETWEEN}exists`",
    after: '"not exists"',
  },
  {
    ...READ,
    rule: "between the two words of NOT IN may be a comment",
    before: "`not${BETWEEN}in`",
    after: '"not\\\\s+in"',
  },
  {
    ...READ,
    rule: "a comment between two words ends with a carriage return too",
    before: "#[^\\r\\n]*[\\r\\n])*/.source",
    after: "#[^\\n]*\\n)*/.source",
  },
  {
    ...PARSER,
    rule: "NOT IN on two lines costs what it costs on one",
    before: 'written.replace(/^not.*?(in|exists)$/is, "not$1")',
    after: "written",
    tests: ["sparql-plans"],
    only: "NOT IN on two lines",
  },
  {
    ...PARSER,
    rule: "all that follows the first colon is the name",
    before: "/^([^:]*):(.*)$/s",
    after: "/^([^:]*):([^:]*)/s",
    only: "what an engine adds",
  },
  {
    ...READ,
    rule: "a name begins behind its first colon",
    before: "/^([^:]*):(.*)$/s",
    after: "/^(.*):(.*)$/s",
  },
  {
    ...READ,
    rule: "a prefix must be declared",
    before: "if (prefixes[prefix!] === undefined) throw",
    after: "if (prefixes[prefix!] === null) throw",
  },
  {
    ...MCP,
    rule: "in a batch a revision that nobody knows is told as such, too",
    before: "  if (unknown) return unknown;",
    after: "  if (unknown && !inBatch) return unknown;",
  },
  {
    ...MCP,
    rule: "a revision of which only the header tells is one, whatever it sorts after",
    before: "header === undefined || REVISIONS.includes(header)) return",
    after: "header === undefined || header >= CURRENT || REVISIONS.includes(header)) return",
  },
  {
    ...MCP,
    rule: "a header that is empty names no revision that anybody knows",
    before: "requested !== undefined || header === undefined ||",
    after: "requested !== undefined || !header ||",
  },
  {
    ...MCP,
    rule: "a revision that nobody knows is told before a header that disagrees with it",
    before: "if (typeof requested ===",
    after: "if (header === undefined && typeof requested ===",
  },
  {
    ...MCP,
    rule: "a header that disagrees with its message is told as such, even if nobody knows what it names",
    before: "if (requested !== undefined || header",
    after: "if (header",
    only: "header that disagrees",
  },
  {
    ...MAILS,
    rule: "that mails wait for a migration is said",
    file: "worker/outbox.ts",
    before: "if (held) result.heldUp =",
    after: "if (!held) result.heldUp =",
  },
  {
    ...MAILS,
    rule: "that mails wait for a migration is said once",
    before: "heldUp > 0 && !isHeldUp",
    after: "heldUp > 0",
  },
  {
    ...MAILS,
    rule: "that mails wait for a migration is said again of the next one",
    before: "isHeldUp = heldUp > 0;",
    after: "isHeldUp ||= heldUp > 0;",
  },
  {
    ...MAILS,
    rule: "that mails wait for a migration is said only after some seconds",
    file: "db/rules/outbox.sql",
    before: "m.next_attempt_at <= now() - interval '10 seconds'",
    after: "m.next_attempt_at <= now()",
  },
  {
    ...MAILS,
    rule: "that mails wait for a migration is said after a few seconds already",
    file: "db/rules/outbox.sql",
    before: "m.next_attempt_at <= now() - interval '10 seconds'",
    after: "m.next_attempt_at <= now() - interval '10 minutes'",
  },
];
