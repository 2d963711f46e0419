// The logins of a database that one process both owns and serves.
import { randomBytes } from "node:crypto";
import { escapeLiteral } from "pg";
import type pg from "pg";

/** Where one login serves as well as owns: unless it is a superuser, it must be let into the API's roles. */
export async function mayBecomeApiRoles(owner: pg.Pool): Promise<void> {
  const { rows } = await owner.query<{ rolsuper: boolean }>(
    "select rolsuper from pg_roles where rolname = current_user",
  );
  if (!rows[0]?.rolsuper) await owner.query("grant api_read, api_write, api_review to current_user");
}

/**
 * Gives the server's own login a password for the lifetime of this process.
 * @returns the URL of the database for it
 */
export async function serverLogin(owner: pg.Pool, ownerUrl: string): Promise<string> {
  const password = randomBytes(24).toString("base64url");
  await owner.query(`alter role engagement_server login password ${escapeLiteral(password)}`);
  const url = new URL(ownerUrl);
  url.username = "engagement_server";
  url.password = password;
  return url.href;
}
