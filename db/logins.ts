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
