import { hash, randomBytes } from "node:crypto";
import { Option } from "commander";
import type { Command } from "commander";
import type pg from "pg";
import { choices } from "../db/catalog.ts";
import { AdminError, table } from "./context.ts";
import type { AdminContext } from "./context.ts";
import { futureDate, hours, network, positiveInteger, several } from "./key-options.ts";

const SCOPES = choices["api_keys.scope"];

type IssueOptions = {
  label: string;
  scope: (typeof SCOPES)[number];
  expires?: string;
  rate?: number;
  org?: string[];
  person?: string[];
  cidr?: string[];
};
type Key = {
  keyId: string;
  label: string;
  scope: string;
  ratePerMinute: number | null;
  organizations: string[] | null;
  persons: string[] | null;
  networks: string[] | null;
  isDemo: boolean;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
  replacedBy: string | null;
  state: "live" | "expired" | "revoked";
};
/** What is known of a key that has just been issued. */
type NewKey = Omit<Key, "lastUsedAt" | "replacedBy">;

/** The columns of a key; its text is not stored. */
const KEY = `key_id as "keyId", label, scope, rate_per_minute as "ratePerMinute", organizations, persons,
  networks::text[] as networks, is_demo as "isDemo", to_json(created_at) as "createdAt", to_json(expires_at) as "expiresAt",
  to_json(revoked_at) as "revokedAt", app_private.key_state(k) as state`;
const KEYS = `select ${KEY}, (select to_json(u.last_used_at) from app_private.key_uses as u where u.key_id = k.key_id) as "lastUsedAt",
    replaced_by as "replacedBy"
  from app_private.api_keys as k`;

/** keys issue, list, show, rotate, revoke. */
export function registerKeys(program: Command, context: AdminContext): void {
  const keys = program
    .command("keys")
    .description("API keys: what callers carry in the Authorization header");

  keys
    .command("issue")
    .description("Issue a key. Its text is shown only this once; only its SHA-256 is stored.")
    .requiredOption("--label <text>", "whom or what the key is for")
    .addOption(
      new Option("--scope <scope>", "what the key may do; api_read is enough for an AI client")
        .choices(SCOPES)
        .makeOptionMandatory(),
    )
    .option(
      "--expires <date>",
      "when it stops working: YYYY-MM-DD (UTC), or an ISO 8601 time with its offset or Z",
      futureDate,
    )
    .option("--rate <per minute>", "its own rate limit, in requests per minute", positiveInteger)
    .option("--org <uri>", "restrict the key to this organization (repeatable)", several)
    .option("--person <email>", "restrict the key to this person as the one who acts (repeatable)", several)
    .option("--cidr <network>", "restrict the key to callers in this network (repeatable)", network)
    .action(async (options: IssueOptions) => {
      const key = newKey();
      await context.inTransaction(async (client) => {
        const { rows } = await client.query<NewKey>(
          `insert into app_private.api_keys as k
           (label, key_hash, scope, expires_at, rate_per_minute, organizations, persons, networks)
         values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${KEY}`,
          [
            ...[options.label, hashOf(key), options.scope, options.expires, options.rate],
            ...[options.org, options.person, options.cidr],
          ],
        );
        // Before the commit: a key whose text could not be printed would be useless.
        tellNew(context, key, rows[0]!);
      });
    });

  keys
    .command("rotate")
    .description(
      "Replace a key: issue a new one with the same bounds, and let the old one expire after a while",
    )
    .argument("<keyId>", "the old key's id, as `keys list` shows it")
    .option("--overlap <hours>", "how long the old key keeps working; 0: not at all", hours, 24)
    .option(
      "--expires <date>",
      "when the new key stops working; by default, when the old one would have",
      futureDate,
    )
    .action(async (keyId: string, { overlap, expires }: { overlap: number; expires?: string }) => {
      const key = newKey();
      await context.inTransaction(async (client) => {
        const { rows } = await client.query<NewKey & { oldExpiresAt: string }>(
          // Reads the old key after locking it: while this waited for the lock, its bounds may have changed, or somebody
          // else may have rotated it.
          `with before as materialized (
           select k.* from app_private.api_keys as k
           where key_id::text = lower($1) and app_private.key_state(k) = 'live'
             and k.replaced_by is null
           for no key update
         ), made as (
           insert into app_private.api_keys as k
             (label, key_hash, scope, expires_at, rate_per_minute, organizations, persons, networks)
           select label, $2, scope, coalesce($4, before.expires_at), rate_per_minute, organizations, persons, networks
           from before
           returning ${KEY}
         ), ending as (
           update app_private.api_keys as k
           set expires_at = least(k.expires_at, now() + make_interval(secs => $3::float8 * 3600)), replaced_by = made."keyId"
           from before, made where k.key_id = before.key_id
           returning k.expires_at
         )
         select made.*, to_json(ending.expires_at) as "oldExpiresAt" from made, ending`,
          [keyId, hashOf(key), overlap, expires],
        );
        const [rotated] = rows;
        if (!rotated) throw (await rotatedBefore(client, keyId)) ?? noKey(keyId, "live key");
        const { oldExpiresAt, ...made } = rotated;
        tellNew(context, key, made, { keyId: keyId.toLowerCase(), expiresAt: oldExpiresAt });
      });
    });

  keys
    .command("list")
    .description("List all keys, newest first, without their texts")
    .action(async () => {
      const pool = await context.pool();
      const { rows } = await pool.query<Key>(`${KEYS} order by created_at desc, key_id`);
      context.print(
        rows,
        table(
          ["key id", "scope", "state", "per minute", "expires", "last used", "bounds", "label"],
          rows.map((row) => [
            row.keyId,
            row.scope,
            row.state,
            row.ratePerMinute ?? "default",
            row.expiresAt ?? "never",
            row.lastUsedAt ?? "never",
            boundsOf(row).join(", ") || "none",
            row.isDemo ? `${row.label} (demo)` : row.label,
          ]),
        ),
      );
    });

  keys
    .command("show")
    .description("Show one key, without its text: its bounds, and when it was last used")
    .argument("<keyId>", "the key's id, as `keys list` shows it")
    .action(async (keyId: string) => {
      const pool = await context.pool();
      const { rows } = await pool.query<Key>(`${KEYS} where key_id::text = lower($1)`, [keyId]);
      const [key] = rows;
      if (!key) throw noKey(keyId, "key");
      context.print(key, [
        `${key.label}: a key of scope ${key.scope}, ${key.state}`,
        `  issued            ${key.createdAt}`,
        `  expires           ${key.expiresAt ?? "never"}`,
        `  revoked           ${key.revokedAt ?? "no"}`,
        `  replaced by       ${key.replacedBy ?? "none"}`,
        `  last used         ${key.lastUsedAt ?? "never"}`,
        `  per minute        ${key.ratePerMinute ?? "default"}`,
        `  for organizations ${key.organizations?.join(", ") ?? "any"}`,
        `  for persons       ${key.persons?.join(", ") ?? "any"}`,
        `  from networks     ${key.networks?.join(", ") ?? "any"}`,
      ]);
    });

  keys
    .command("revoke")
    .description("Revoke a key, at once in every process")
    .argument("<keyId>", "the key's id, as `keys list` shows it")
    .action(async (keyId: string) => {
      const pool = await context.pool();
      const { rows } = await pool.query<{ keyId: string; label: string; revokedAt: string }>(
        `update app_private.api_keys set revoked_at = coalesce(revoked_at, now()) where key_id::text = lower($1)
         returning key_id as "keyId", label, to_json(revoked_at) as "revokedAt"`,
        [keyId],
      );
      const [revoked] = rows;
      if (!revoked) throw noKey(keyId, "key");
      context.print(revoked, `Key ${revoked.keyId} (${revoked.label}) is revoked.`);
    });
}

/** A key is not rotated a second time: its first replacement would be forgotten, and its expiry is no longer the one it had. */
async function rotatedBefore(client: pg.PoolClient, keyId: string): Promise<AdminError | undefined> {
  const { rows } = await client.query<Pick<Key, "keyId" | "state"> & { oldId: string; oldState: string }>(
    `with recursive next as (
       select k.key_id as old_id, app_private.key_state(k) as old_state, k.replaced_by from app_private.api_keys as k
       where k.key_id::text = lower($1)
       union all
       select next.old_id, next.old_state, k.replaced_by from next join app_private.api_keys as k on k.key_id = next.replaced_by
       where k.replaced_by is not null
     )
     select next.old_id as "oldId", next.old_state as "oldState", n.key_id as "keyId", app_private.key_state(n) as state
     from next join app_private.api_keys as n on n.key_id = next.replaced_by
     where n.replaced_by is null`,
    [keyId],
  );
  const [last] = rows;
  if (!last) return undefined;
  const said = `This key has already been replaced by key ${last.keyId}`;
  if (last.state !== "live")
    return new AdminError(`${said}, which is ${last.state}: issue a new one with keys issue.`);
  const end = last.oldState === "live" ? `; keys revoke ${last.oldId} ends this one at once` : "";
  return new AdminError(
    `${said}. If the text of that one is lost, keys rotate ${last.keyId} --overlap 0 gives another${end}.`,
  );
}

/** If a key's text was given instead of its id, it is not repeated on the terminal or in a log. */
function noKey(keyId: string, what: string): AdminError {
  return new AdminError(
    keyId.startsWith("ek_")
      ? "A key is named by its id, as `keys list` shows it, not by its text."
      : `There is no ${what} with the id ${keyId}.`,
  );
}

function newKey(): string {
  return `ek_${randomBytes(32).toString("base64url")}`;
}

function hashOf(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

function tellNew(
  context: AdminContext,
  key: string,
  made: NewKey,
  replaces?: { keyId: string; expiresAt: string },
): void {
  const { keyId, label, scope, expiresAt, ratePerMinute, organizations, persons, networks, createdAt } = made;
  const bounds = boundsOf(made);
  context.print(
    {
      ...{
        keyId,
        key,
        label,
        scope,
        expiresAt: expiresAt && new Date(expiresAt).toISOString(),
        ratePerMinute,
        organizations,
        persons,
        networks,
        createdAt,
      },
      ...(replaces && { replaces }),
    },
    [
      ...(replaces ? [`Key ${replaces.keyId} works until ${replaces.expiresAt}.`] : []),
      ...(bounds.length > 0 ? [`Bounds: ${bounds.join(", ")}.`] : []),
      ...(expiresAt === null ? [] : [`It works until ${expiresAt}.`]),
      `Key ${keyId} (${scope}) for ${label}. It is not shown again:`,
      key,
    ],
  );
}

function boundsOf({ organizations, persons, networks }: Pick<Key, "organizations" | "persons" | "networks">) {
  const count = (items: string[] | null, one: string) =>
    items ? [`${items.length} ${one}${items.length === 1 ? "" : "s"}`] : [];
  return [
    ...count(organizations, "organization"),
    ...count(persons, "person"),
    ...count(networks, "network"),
  ];
}
