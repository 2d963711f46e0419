// Database logins for a process that both owns the database and serves requests from it.
import { randomBytes } from "node:crypto";
import { escapeLiteral } from "pg";
import type pg from "pg";

/**
 * Grants the current login the roles that the server's own login may switch to, unless it is a superuser: for
 * when one login both owns the database and serves requests.
 */
export async function mayBecomeApiRoles(owner: pg.Pool): Promise<void> {
  const { rows } = await owner.query<{ step: string }>(
    `select format('grant %I to current_user', role.rolname) as step
     from pg_auth_members as m
     join pg_roles as role on role.oid = m.roleid
     join pg_roles as server on server.oid = m.member
     where server.rolname = 'engagement_server'
       and not (select rolsuper from pg_roles where rolname = current_user)`,
  );
  for (const { step } of rows) await owner.query(step);
}

/** A server cannot work with its login, or may not; the message is one line. */
export class LoginUnfit extends Error {
  override name = "LoginUnfit";
}

/**
 * Makes sure that a server's login may become whoever calls, and that the rules bind these.
 * @returns what else is wrong with it, a sentence each
 * @throws LoginUnfit
 */
export async function requireFitLogin(db: Pick<pg.ClientBase, "query">): Promise<string[]> {
  const { rows } = await db.query<{ problem: string; is_fatal: boolean }>(
    "select problem, is_fatal from app_private.login_problems()",
  );
  const fatal = rows.find((row) => row.is_fatal);
  if (fatal) throw new LoginUnfit(fatal.problem);
  return rows.map(({ problem }) => problem);
}

/**
 * Makes sure that a login may do what only the owner of the schema may.
 * @throws LoginUnfit
 */
export async function requireOwner(db: Pick<pg.ClientBase, "query">): Promise<void> {
  const { rows } = await db.query<{ login: string; owner: string; is_owner: boolean }>(
    `select current_user::text as login, pg_get_userbyid(nspowner)::text as owner,
       pg_has_role(current_user, nspowner, 'USAGE') as is_owner
     from pg_namespace where nspname = 'app_private'`,
  );
  const { login, owner, is_owner } = rows[0]!;
  if (!is_owner) throw new LoginUnfit(`the login ${login} does not own the tables; use that of ${owner}`);
}

/**
 * Gives the server's own login a new random password.
 * @returns the URL of the database for that login
 */
export async function serverLogin(owner: pg.Pool, ownerUrl: string): Promise<string> {
  const password = randomBytes(24).toString("base64url");
  await owner.query(`alter role engagement_server login password ${escapeLiteral(password)}`);
  const url = new URL(ownerUrl);
  url.username = "engagement_server";
  url.password = password;
  return url.href;
}
