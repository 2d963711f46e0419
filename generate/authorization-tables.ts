// The tables of docs/authorization.md.
import type pg from "pg";
import { choices } from "../db/catalog.ts";
import type { Generated } from "./generated.ts";
import { code, markdown, withTables } from "./tables.ts";

const SCOPES = choices["api_keys.scope"];
const PERSON = "api_person";

export const authorizationTablesFile: Generated = {
  file: "docs/authorization.md",
  text: async ({ owner }, written) => {
    return withTables(written, await authorizationTables(owner));
  },
};

async function authorizationTables(db: pg.Pool): Promise<Record<string, string>> {
  return {
    "organization-roles": await roleTable(db, "organization"),
    "platform-roles": await roleTable(db, "platform"),
    "permission-checks": await checkTable(db),
    scopes: await scopeTable(db),
    persons: await personTable(db),
  };
}

async function roleTable(db: pg.Pool, kind: string): Promise<string> {
  const { rows: roles } = await db.query<{ role: string }>(
    `select unnest(enum_range(null::app_public.${kind}_role))::text as role`,
  );
  const { rows } = await db.query<{ permission: string; roles: string[] }>(
    `select permission, array_agg(role::text) as roles from app_public.${kind}_permissions
     group by permission order by permission`,
  );
  const names = roles.map(({ role }) => role);
  return markdown(
    ["permission", ...names.map(code)],
    rows.map((row) => [
      code(row.permission),
      ...names.map((name) => (row.roles.includes(name) ? "yes" : "–")),
    ]),
  );
}

/** Which function, view or policy asks for which permission. */
export async function permissionChecks(db: pg.Pool): Promise<{ permission: string; asked_by: string[] }[]> {
  const { rows } = await db.query<{ permission: string; asked_by: string[] }>(
    `select permission, array_agg(distinct name order by name) as asked_by
     from app_private.permission_checks() group by permission order by permission`,
  );
  return rows;
}

async function checkTable(db: pg.Pool): Promise<string> {
  const checks = await permissionChecks(db);
  return markdown(
    ["permission", "asked for by"],
    checks.map((check) => [code(check.permission), check.asked_by.map(code).join(", ")]),
  );
}

async function scopeTable(db: pg.Pool): Promise<string> {
  const { rows } = await db.query<{ name: string; scope: string }>(
    `select p.proname::text as name,
       (select scope from unnest($1::text[]) with ordinality as s (scope, place)
        where has_function_privilege(scope, p.oid, 'execute') order by place limit 1) as scope
     from pg_proc as p
     where p.pronamespace = 'app_public'::regnamespace and p.provolatile = 'v'
       and exists (select from unnest($1::text[]) as scope where has_function_privilege(scope, p.oid, 'execute'))
     union
     select p.proname::text, (select scope from unnest($1::text[]) with ordinality as s (scope, place)
        where has_function_privilege(scope, p.oid, 'execute') order by place limit 1)
     from pg_proc as p
     where p.pronamespace = 'app_public'::regnamespace and p.prosecdef
       -- A function of a row is one of its columns to those who ask.
       and not exists (
         select from pg_class as c where c.relnamespace = p.pronamespace and c.reltype = p.proargtypes[0])
     order by 1`,
    [SCOPES],
  );
  return markdown(
    ["scope", "functions for which it is the lowest scope"],
    SCOPES.map((scope) => [
      code(scope),
      rows
        .filter((row) => row.scope === scope)
        .map((row) => code(row.name))
        .join(", ") || "none; it reads",
    ]),
  );
}

/** Who acts when a function is called: the argument that names them, and whether a person may call it. */
async function personTable(db: pg.Pool): Promise<string> {
  const { rows } = await db.query<{ name: string; actor: string | null; may: boolean }>(
    `select p.proname::text as name, substring(obj_description(p.oid, 'pg_proc') from '@actor (\\w+)') as actor,
       has_function_privilege($2, p.oid, 'execute') as may
     from pg_proc as p
     where p.pronamespace = 'app_public'::regnamespace
       and exists (select from unnest(p.proargnames) as argument where argument ~ '(^|_)email$')
       and exists (select from unnest($1::text[]) as scope where has_function_privilege(scope, p.oid, 'execute'))
     order by 1`,
    [SCOPES, PERSON],
  );
  return markdown(
    ["function", "who acts with a key", "with a person's token"],
    rows.map(({ name, actor, may }) => [
      code(name),
      actor === null ? "nobody; it looks somebody up" : `whom ${code(actor)} names`,
      may ? "that person" : "refused: no GRANT",
    ]),
  );
}
