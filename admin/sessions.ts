import { Option } from "commander";
import type { Command } from "commander";
import { AdminError, table } from "./context.ts";
import type { AdminContext } from "./context.ts";

type Session = {
  sessionId: string;
  email: string;
  issuer: string | null;
  createdAt: string;
  lastUsedAt: string;
};

type Which = { email?: string; id?: string; issuer?: string };

/** sessions list, end. */
export function registerSessions(program: Command, context: AdminContext): void {
  const sessions = program.command("sessions").description("Who is signed in on the pages");

  sessions
    .command("list")
    .description("List the live sessions, the last used first")
    .option("--email <email>", "only of this person")
    .action(async ({ email }: { email?: string }) => {
      const pool = await context.pool();
      const { rows } = await pool.query<Session>(
        `select session_id as "sessionId", email, issuer, to_json(created_at) as "createdAt",
           to_json(last_used_at) as "lastUsedAt"
         from app_private.sessions_of($1)
         order by last_used_at desc, session_id`,
        [email ?? null],
      );
      context.print(
        rows,
        table(
          ["id", "email", "by", "since", "last used"],
          rows.map((row) => [
            ...[row.sessionId, row.email, row.issuer ?? "a link by mail"],
            ...[row.createdAt, row.lastUsedAt],
          ]),
        ),
      );
    });

  sessions
    .command("end")
    .description(
      "Sign a person out everywhere, and end the links that were sent to them; or end one session, or all of a provider",
    )
    .addOption(new Option("--email <email>", "the person").conflicts(["id", "issuer"]))
    .addOption(new Option("--id <id>", "the session, as the list shows it").conflicts("issuer"))
    .option("--issuer <issuer>", "the provider that they were begun at, as the list shows it")
    .action(async ({ email, id, issuer }: Which, command: Command) => {
      if (email === undefined && id === undefined && issuer === undefined)
        command.error("error: one of --email, --id and --issuer is required");
      const pool = await context.pool();
      const { rows } = await pool.query<{ ended: number }>(
        `select (case when $1::text is not null then app_private.end_sessions($1)
           when $2::text is not null then app_private.end_session_of_id($2)
           else app_private.end_sessions_of_issuer($3) end)::integer as ended`,
        [email ?? null, id ?? null, issuer ?? null],
      );
      const { ended } = rows[0]!;
      if (id !== undefined && ended === 0) throw new AdminError(`There is no session with the id ${id}.`);
      // No error, for it may be done to be sure; but the name may be misspelled, and the sessions would live on.
      if (issuer !== undefined && ended === 0)
        context.note(
          `There is no session that was begun at ${issuer}; the list shows the names of providers.`,
        );
      // What is undefined is left out.
      context.print(
        { email, id, issuer, ended },
        `${ended} ${ended === 1 ? "session has" : "sessions have"} ended.`,
      );
    });
}
