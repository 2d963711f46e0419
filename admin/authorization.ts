import type { Command } from "commander";
import { AdminError, table } from "./context.ts";
import type { AdminContext } from "./context.ts";
import { rulePlaces } from "./rule-places.ts";

type ExplainOptions = { email: string; org: string; permission: string; key?: string };
type Reason = { rule: string; holds: boolean; refusal: string | null; reason: string };
type Holder = { email: string; firstName: string | null; lastName: string | null; reason: string };

/** authorization explain, who-can. */
export function registerAuthorization(program: Command, context: AdminContext): void {
  const authorization = program
    .command("authorization")
    .description("Who may do what, and why; asked of the rules that decide it");

  authorization
    .command("explain")
    .description("Say why a person may do something for an organization, or why not, rule by rule")
    .requiredOption("--email <email>", "the person")
    .requiredOption("--org <uri>", "the organization's URI")
    .requiredOption("--permission <permission>", "what is asked for, such as needs:write")
    .option("--key <keyId>", "the key of the request, by its id as `keys list` shows it")
    .action(async ({ email, org, permission, key }: ExplainOptions) => {
      if (key?.startsWith("ek_")) throw new AdminError("--key takes the key's id, not its text.");
      const pool = await context.pool();
      const { rows } = await pool.query<Reason>(
        "select rule, holds, refusal, reason from app_private.authorization_reasons($1, $2, $3, $4)",
        [org, email, permission, key ?? null],
      );
      const placeOf = await rulePlaces();
      const reasons = rows.map(({ refusal, ...reason }) => ({
        ...reason,
        refusal: reason.holds ? null : refusal,
        place: placeOf(reason.rule),
      }));
      const refusal = reasons.find(({ holds }) => !holds)?.refusal ?? null;
      const allowed = refusal === null;
      context.print({ allowed, refusal, email, org, permission, key: key ?? null, reasons }, [
        allowed
          ? `Yes: ${email} has ${permission} for ${org}.`
          : `No: ${email} is refused ${permission} for ${org}, with ${refusal}.`,
        ...table(
          ["", "because", "by"],
          reasons.map(({ holds, reason, place, rule }) => [
            holds ? "yes" : "no",
            reason,
            place ? `${place.file}:${place.line}` : rule,
          ]),
        ),
      ]);
    });

  authorization
    .command("who-can")
    .description("List everybody who has a permission for an organization, and why")
    .requiredOption("--org <uri>", "the organization's URI; ignored for permissions on the platform")
    .requiredOption("--permission <permission>", "what is asked for, such as needs:write")
    .action(async ({ org, permission }: { org: string; permission: string }) => {
      const pool = await context.pool();
      const { rows } = await pool.query<Holder>(
        `select email, first_name as "firstName", last_name as "lastName", reason
         from app_private.holders_of($1, $2)`,
        [org, permission],
      );
      context.print(
        rows,
        rows.length === 0
          ? `Nobody has ${permission} for ${org}.`
          : table(
              ["e-mail", "name", "because"],
              rows.map((row) => [
                row.email,
                [row.firstName, row.lastName].filter(Boolean).join(" "),
                row.reason,
              ]),
            ),
      );
    });
}
