// Roles are those of the whole cluster, which test files share that run side by side.
import pg from "pg";

/**
 * Waits until no other test gives roles to others, or compares who has them.
 * @returns what lets the next one go on
 */
export async function holdRoles(): Promise<() => Promise<void>> {
  const client = new pg.Client(process.env["TEST_POSTGRES_URL"]);
  await client.connect();
  await client.query("select pg_advisory_lock(2)");
  return () => client.end();
}
