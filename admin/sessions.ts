import type { Command } from "commander";
import { table } from "./context.ts";
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
    .description("List the sessions that are live, the last used first")
    .option("--email <email>", "of this person alone")
    .action(async ({ email }: { email?: string }) => {
      const pool = await context.pool();
      const { rows } = await pool.query<Session>(
        `select session_id as "sessionId", email, issuer, to_json(created_at) as "createdAt",
           to_json(last_used_at) as "lastUsedAt"
         from app_private.sessions as s
         where app_private.session_is_live(s) and ($1::text is null or lower(email) = lower($1))
         order by last_used_at desc, session_id`,
        [email ?? null],
      );
      context.print(
        rows,
        table(
          ["email", "by", "since", "last used"],
          rows.map((row) => [row.email, row.issuer ?? "a link by mail", row.createdAt, row.lastUsedAt]),
        ),
      );
    });

  sessions
    .command("end")
    .description("Sign a person out everywhere, and end the links that were sent to them")
    .requiredOption("--email <email>", "the person")
    .action(async ({ email }: { email: string }) => {
      const pool = await context.pool();
      const { rows } = await pool.query<{ ended: number }>(
        "select app_private.end_sessions($1)::integer as ended",
        [email],
      );
      const { ended } = rows[0]!;
      context.print({ email, ended }, `${ended} ${ended === 1 ? "session has" : "sessions have"} ended.`);
    });
}
