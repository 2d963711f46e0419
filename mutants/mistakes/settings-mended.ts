// What settings, options and headers mean when they can be taken in two ways, or for nothing.
import type { Mistake } from "../mistake.ts";

type Slip = [rule: string, before: string, after: string];
const envFile = (...all: Slip[]): Mistake[] =>
  all.map(([rule, before, after]) => ({
    ...{ rule, file: "config.ts", before, after },
    ...{ tests: ["config"], only: "a file .env" },
  }));

export const SETTINGS_MENDED: readonly Mistake[] = [
  {
    rule: "a time at which a key ends says its offset: it is nobody's time zone",
    file: "admin/key-options.ts",
    before: "(Z|[+-]\\d{2}:\\d{2}))?$/;",
    after: "(Z|[+-]\\d{2}:\\d{2})?)?$/;",
    tests: ["key-words"],
    only: "what it may be",
  },
  {
    rule: "a time at which a key ends may be that of an offset",
    file: "admin/key-options.ts",
    before: "(Z|[+-]\\d{2}:\\d{2}))?$/;",
    after: "Z)?$/;",
    tests: ["key-words"],
    only: "what it may be",
  },
  ...envFile(
    [
      "a file of settings that cannot be read is told of",
      '=== "ENOENT") return {};',
      "!== undefined) return {};",
    ],
    [
      "a file of settings that cannot be read is told of in one line",
      "    throw new ConfigError(`${ENV_FILE}: ${what}: ${reasonOf(error)}`, { cause: error });",
      "    throw error;",
    ],
    [
      "a file of settings may be missing",
      '    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};\n',
      "",
    ],
    [
      "a file of settings is read without the mark that it may begin with",
      "    text = readText(ENV_FILE);",
      '    text = readFileSync(ENV_FILE, "utf8");',
    ],
    [
      "of a file of settings no byte is passed over that is not UTF-8",
      'new TextDecoder("utf-8", { fatal: true })',
      'new TextDecoder("utf-8")',
    ],
    ["a file of settings in UTF-16 is not overlooked", 'if (text.includes("\\0"))', "if (false)"],
    [
      "what the environment sets, a file of settings does not set again",
      "process.env[name] ??= value",
      "process.env[name] = value",
    ],
    [
      "what the environment leaves empty, a file of settings does not set",
      "process.env[name] ??= value",
      "process.env[name] ||= value",
    ],
  ),
  {
    rule: "a mail server has a host",
    file: "config.ts",
    before: '!URL.canParse(value) || new URL(value).hostname !== ""',
    after: "URL.canParse(value)",
    tests: ["config"],
    only: "refuses SMTP_URL",
  },
  {
    rule: "clients of the revisions before 2025 are answered as such, as the documents say",
    file: "server/mcp/protocol.ts",
    before: "      capabilities: { tools: { listChanged: false } },\n",
    after:
      '      capabilities: { tools: { listChanged: false } },\n      supportedProtocolVersions: ["2025-11-25"],\n',
    tests: ["mcp-refusals"],
    only: "that the documents name",
  },
  {
    rule: "the documents name the revisions that are taken",
    file: "docs/mcp.md",
    before: " (2024-11-05, 2024-10-07)",
    after: " (2024-11-05)",
    tests: ["mcp-refusals"],
    only: "that the documents name",
  },
  {
    rule: "the documents name the code by which a revision is refused",
    file: "docs/mcp.md",
    before: "| `-32000` |",
    after: "| `-32001` |",
    tests: ["mcp-refusals"],
    only: "of a revision that nobody knows",
  },
  {
    rule: "a mail that is shown is, whatever else the log has in it",
    file: "worker/outbox.ts",
    before: 'logger.child({}, { level: "info" }).info(',
    after: "logger.info(",
    tests: ["worker-tasks"],
    only: "shown in the log",
  },
  {
    rule: "mails are not said to be shown where there is somebody to send them",
    file: "config.ts",
    before: "config.smtpUrl === undefined && config.databaseUrl",
    after: "config.databaseUrl",
    tests: ["process-parts"],
    only: "says that a mail is shown",
  },
  {
    rule: "mails are not said to be shown where others reach the service",
    file: "process/greeting.ts",
    before: "showsMails(config) ?",
    after: 'showsMails({ ...config, host: "127.0.0.1" }) ?',
    tests: ["process-parts"],
    only: "says that a mail is shown",
  },
];
