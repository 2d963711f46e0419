import { createHash, randomBytes } from "node:crypto";
import { InvalidArgumentError, Option } from "commander";
import type { Command } from "commander";
import { choices } from "../db/catalog.ts";
import { AdminError, table } from "./context.ts";
import type { AdminContext } from "./context.ts";

const SCOPES = choices["api_keys.scope"];

type IssueOptions = { label: string; scope: (typeof SCOPES)[number]; expires?: string; rate?: number };
type KeyRow = {
  keyId: string;
  label: string;
  scope: string;
  ratePerMinute: number | null;
  isDemo: boolean;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  state: "live" | "expired" | "revoked";
};

/** keys issue, list, revoke. */
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
    .option("--expires <date>", "when it stops working: YYYY-MM-DD (UTC) or a full ISO 8601 time", futureDate)
    .option("--rate <per minute>", "its own rate limit, in requests per minute", positiveInteger)
    .action(async (options: IssueOptions) => {
      const key = `ek_${randomBytes(32).toString("base64url")}`;
      const pool = await context.pool();
      const { rows } = await pool.query<{ keyId: string; createdAt: string }>(
        `insert into app_private.api_keys (label, key_hash, scope, expires_at, rate_per_minute)
         values ($1, $2, $3, $4, $5) returning key_id as "keyId", to_json(created_at) as "createdAt"`,
        [
          options.label,
          createHash("sha256").update(key).digest(),
          options.scope,
          options.expires ?? null,
          options.rate ?? null,
        ],
      );
      const { keyId, createdAt } = rows[0]!;
      context.print(
        {
          keyId,
          key,
          label: options.label,
          scope: options.scope,
          expiresAt: options.expires ?? null,
          ratePerMinute: options.rate ?? null,
          createdAt,
        },
        [`Key ${keyId} (${options.scope}) for ${options.label}. It is not shown again:`, key],
      );
    });

  keys
    .command("list")
    .description("List all keys, newest first, without their texts")
    .action(async () => {
      const pool = await context.pool();
      const { rows } = await pool.query<KeyRow>(
        `select key_id as "keyId", label, scope, rate_per_minute as "ratePerMinute", is_demo as "isDemo",
           to_json(created_at) as "createdAt", to_json(expires_at) as "expiresAt", to_json(revoked_at) as "revokedAt",
           case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'live' end as state
         from app_private.api_keys order by created_at desc, key_id`,
      );
      context.print(
        rows,
        table(
          ["key id", "scope", "state", "per minute", "expires", "label"],
          rows.map((row) => [
            row.keyId,
            row.scope,
            row.state,
            row.ratePerMinute ?? "default",
            row.expiresAt ?? "never",
            row.isDemo ? `${row.label} (demo)` : row.label,
          ]),
        ),
      );
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
      if (!revoked) throw new AdminError(`There is no key with the id ${keyId}.`);
      context.print(revoked, `Key ${revoked.keyId} (${revoked.label}) is revoked.`);
    });
}

function futureDate(text: string): string {
  const time = Date.parse(text);
  // Date rolls 30 February over into March; a date that comes back as another one does not exist.
  const day = text.slice(0, 10);
  const dayExists = !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
  if (!/^\d{4}-\d{2}-\d{2}(T\S+)?$/.test(text) || Number.isNaN(time) || !dayExists) {
    throw new InvalidArgumentError("It must be a date such as 2030-12-31 or 2030-12-31T12:00:00Z.");
  }
  if (time <= Date.now()) throw new InvalidArgumentError("It is in the past.");
  return new Date(time).toISOString();
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 2_147_483_647) {
    throw new InvalidArgumentError("It must be a whole number of at least 1.");
  }
  return value;
}
