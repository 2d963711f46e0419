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
    .description("Sign a person out everywhere, and end the links that were sent to them; or end one session")
    .addOption(new Option("--email <email>", "the person").conflicts("id"))
    .option("--id <id>", "the session, as the list shows it")
    .action(async ({ email, id }: { email?: string; id?: string }, command: Command) => {
      if (email === undefined && id === undefined)
        command.error("error: one of --email and --id is required");
      const pool = await context.pool();
      const { rows } = await pool.query<{ ended: number }>(
        `select (case when $1::text is null then app_private.end_session_of_id($2) else app_private.end_sessions($1) end)::integer
           as ended`,
        [email ?? null, id ?? null],
      );
      const { ended } = rows[0]!;
      if (id !== undefined && ended === 0) throw new AdminError(`There is no session with the id ${id}.`);
      context.print(
        { ...(email !== undefined && { email }), ...(id !== undefined && { id }), ended },
        `${ended} ${ended === 1 ? "session has" : "sessions have"} ended.`,
      );
    });
}
