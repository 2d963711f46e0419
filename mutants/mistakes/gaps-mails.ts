// What mails say of what strangers wrote, and small borders of the stores, the start and what the operator is told.
import type { Mistake } from "../mistake.ts";

const MAILS = { file: "worker/mail-texts.ts", tests: ["mail-texts"] };
const LINES = { ...MAILS, only: "one line in each place" };
const LAST = { ...MAILS, only: "after which no more come" };
const XML = { file: "graph/rdf-xml.ts", tests: ["graph-parts"], only: "holds the IRI" };

/** Names of organizations, where each kind of mail begins. */
const orgIn = (kind: string, subject: string): Mistake => ({
  ...LINES,
  rule: `an organization's name adds no lines to a mail of ${kind}`,
  before: `const org = line(data.orgName);\n    return {\n      subject: \`${subject}`,
  after: `const org = data.orgName;\n    return {\n      subject: \`${subject}`,
});

/** What is told of a claim. */
const factOf = (what: string, before: string): Mistake => ({
  ...LINES,
  rule: `${what} adds no lines to a mail`,
  before: before.replace("§", "line(").replace("§", ")"),
  after: before.replaceAll("§", ""),
});

export const GAPS_IN_MAILS: readonly Mistake[] = [
  factOf("a claimant's name", '["Name", §data.claimantName ?? "not given"§]'),
  factOf("a claimant's address", "`${§data.claimantEmail§} (${proof})`"),
  factOf("a claimed domain", "`${§data.orgDomain§} (${source}"),
  factOf("the roles that a claimant names", '§data.statedRoles.join(", ")§'),
  factOf("an organization's URI", '["URI", §data.orgUri§]'),
  factOf("an organization's type", '["Type", §data.newOrgType§]'),
  factOf("an organization's website", '["Website", §data.newOrgWebsite§]'),
  factOf("the name of who is greeted", "`Hello ${§recipientName§},`"),
  factOf("a new organization's name", '"a new organization" : §orgName§'),
  orgIn("an approval", "Welcome"),
  orgIn("a request", "${inSubject(data.claimantName"),
  orgIn("a queue", "${data.isNewOrg"),
  {
    ...MAILS,
    rule: "nothing reverses the direction of a line, also where there are several such signs",
    before: "\\u202a-\\u202e\\u2066-\\u2069]+/gu",
    after: "\\u202a-\\u202e\\u2066-\\u2069]+/u",
    only: "is one line where one is meant",
  },
  {
    ...LAST,
    rule: "who gets no more mails about claims is led to all of them",
    before: "{ link: `${platformUrl}/admin/claims` },",
    after: "{ link: platformUrl },",
  },
  {
    ...LAST,
    rule: "reviewers are told which mail is the last for a while",
    before: "        ...lastOfMany(data, platformUrl),\n      ],\n    };\n  },\n};",
    after: "      ],\n    };\n  },\n};",
  },
  {
    ...LAST,
    rule: "only the last mail for a while is said to be",
    before: "  if (!isLast) return [];\n",
    after: "  void isLast;\n",
  },
  {
    ...XML,
    rule: "an address with a dot at its end is sent in no XML",
    before: "(?:\\\\.(?=\\\\d)|(?=[:/?#]|$))){4}",
    after: "(?:\\\\.|(?=[:/?#]|$))){4}",
  },
  {
    ...XML,
    rule: "a port of more than five digits is sent in no XML",
    before: "(?::\\\\d{1,5})?",
    after: "(?::\\\\d+)?",
  },
  {
    rule: "who stops has stopped although the disk is full",
    file: "graph/embedded/engine.ts",
    before: "await this.#takeSnapshot().catch(() => undefined);\n    const writer",
    after: "await this.#takeSnapshot();\n    const writer",
    tests: ["embedded-store-engine"],
    only: "who stops",
  },
  {
    rule: "who stops ends the thread that writes",
    file: "graph/embedded/engine.ts",
    before: "    writer?.end();\n    await this.#journal.close();",
    after: "    await this.#journal.close();",
    tests: ["embedded-store-engine"],
    only: "who stops",
  },
  {
    rule: "a lost connection to the embedded PostgreSQL ends no process",
    file: "process/revive.ts",
    before: '    next.on("error", () => undefined);\n',
    after: "",
    tests: ["revive"],
    only: "without a fault",
  },
  {
    rule: "an embedded PostgreSQL that has ended before it is watched is started again",
    file: "process/revive.ts",
    before: "  connect().catch(lost);",
    after: "  connect().catch(() => undefined);",
    tests: ["revive"],
    only: "from the first",
  },
  {
    rule: "no line of a message is taken for a place where something happened",
    file: "process/log.ts",
    before: "    .slice(said)\n",
    after: "",
    tests: ["process-parts"],
    only: "says where it happened",
  },
  {
    rule: "of where something happened the log has the places, and not the message before them",
    file: "process/log.ts",
    before: "    .match(/^ {4}at .*$/gm)\n",
    after: '    .split("\\n")\n',
    tests: ["process-parts"],
    only: "says where it happened",
  },
  {
    rule: "each address that npm start prints leads somewhere",
    file: "process/greeting.ts",
    before: "${url}/v0/mcp`",
    after: "${url}/mcp`",
    tests: ["start"],
    only: "prints no address",
  },
  {
    rule: "a program is told what is wrong with a command line without the word error before it",
    file: "admin/main.ts",
    before: 'error.message.replace(/^error: /, "")',
    after: "error.message",
    tests: ["cli"],
    only: "one JSON value with --json too",
  },
];
