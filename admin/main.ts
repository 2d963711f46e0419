// The operator's tool: npm run admin -- <command>. One file per subject; this one wires them and owns the exit code.
import { CommanderError } from "commander";
import type { Command } from "commander";
import { ConfigError, processConfig } from "../config.ts";
import { explain, refusalCode } from "../process/explain.ts";
import { registerAuthorization } from "./authorization.ts";
import { registerChurches } from "./churches.ts";
import { registerConfig } from "./config.ts";
import { PlainCommand } from "./command.ts";
import { AdminContext, EXIT, shown } from "./context.ts";
import { registerGraph } from "./graph.ts";
import { closeBeforeTheEnd } from "./interrupt.ts";
import { registerKeys } from "./keys.ts";
import { registerMembers } from "./members.ts";
import { registerOrgs } from "./orgs.ts";
import { writeOut } from "./output.ts";
import { registerPeople } from "./people.ts";
import { registerPeopleGroups } from "./people-groups.ts";
import { registerSessions } from "./sessions.ts";
import { registerUsers } from "./users.ts";
import { registerVocabulary } from "./vocabulary.ts";

/** The tool with all its commands. */
export function buildProgram(context: AdminContext): Command {
  const program = new PlainCommand("npm run admin --")
    .description("Operate the engagement service: its keys, people, vocabularies, and graph.")
    .helpOption("-h, --help", "show what a command does and takes")
    .addHelpText(
      "after",
      "\nWorks on DATABASE_URL and FUSEKI_URL, or on the embedded parts under .data/, whether the service is running or not.\n" +
        "Exit codes: 0 done, 1 done in part or differences found, 2 failed.",
    )
    .configureOutput({ writeOut: context.write })
    .exitOverride();
  registerKeys(program, context);
  registerOrgs(program, context);
  registerMembers(program, context);
  registerUsers(program, context);
  registerAuthorization(program, context);
  registerPeople(program, context);
  registerSessions(program, context);
  registerVocabulary(program, context);
  registerPeopleGroups(program, context);
  registerChurches(program, context);
  registerGraph(program, context);
  registerConfig(program, context);
  for (const command of allCommands(program)) {
    if (command.commands.length === 0) {
      command.option("--json", "print one machine-readable value and nothing else on standard output");
    }
    command.showHelpAfterError("Add --help for what this command takes.");
  }
  return program.hook("preAction", (_, action) => {
    context.json = action.opts<{ json?: boolean }>().json ?? false;
  });
}

function allCommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

/** Runs the command line of this process and returns its exit code. */
async function main(args: readonly string[]): Promise<number> {
  // Messages that cannot be written do not change the outcome.
  process.stderr.on("error", () => undefined);
  let context: AdminContext;
  try {
    context = new AdminContext(processConfig());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    report(error, args.includes("--json") ? writeOut : undefined);
    return EXIT.failed;
  }
  closeBeforeTheEnd(() => context.close());
  return run(context, args);
}

/** Runs one command line, closes what it has opened, and returns its exit code. */
export async function run(context: AdminContext, args: readonly string[]): Promise<number> {
  try {
    await buildProgram(context).parseAsync(args, { from: "user" });
    return context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed the error or the requested help already.
      if (error.exitCode === 0) return EXIT.done;
      if (args.includes("--json")) printError("usage", error.message.replace(/^error: /, ""), context.write);
      return EXIT.failed;
    }
    report(error, context.json ? context.write : undefined);
    return EXIT.failed;
  } finally {
    await context.close();
  }
}

function report(error: unknown, write?: (text: string) => void): void {
  const message = explain(error);
  process.stderr.write(`error: ${shown(message)}\n`);
  if (write) printError(refusalCode(error) ?? "failed", message, write);
}

function printError(error: string, message: string, write: (text: string) => void): void {
  try {
    write(`${JSON.stringify({ error, message })}\n`);
  } catch {
    // It has been printed on standard error.
  }
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
