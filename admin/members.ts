import { Option } from "commander";
import type { Command } from "commander";
import { enums } from "../db/catalog.ts";
import { table } from "./context.ts";
import type { AdminContext } from "./context.ts";

const { organization_role: ROLES, membership_status: STATUSES } = enums;

type AddOptions = {
  org: string;
  email: string;
  role: (typeof ROLES)[number];
  firstName?: string;
  lastName?: string;
};
type StatusOptions = { org: string; email: string; status: (typeof STATUSES)[number] };
type Member = {
  orgUri: string;
  email: string;
  firstName: string | null;
  lastName: string | null;
  role: string;
  status: string;
  createdAt: string;
  updatedAt: string;
};

const MEMBER = `org_uri as "orgUri", user_email as email, first_name as "firstName", last_name as "lastName",
  role, status, to_json(created_at) as "createdAt", to_json(updated_at) as "updatedAt"`;

/** members add, list, status. */
export function registerMembers(program: Command, context: AdminContext): void {
  const members = program.command("members").description("Who belongs to which organization, in which role");

  members
    .command("add")
    .description("Make a person an active member of an organization, in a role, whatever they were before")
    .requiredOption("--org <uri>", "the organization's URI")
    .requiredOption("--email <email>", "the person")
    .addOption(
      new Option("--role <role>", "what the person may do there").choices(ROLES).makeOptionMandatory(),
    )
    .option("--first-name <text>", "if it is not known yet")
    .option("--last-name <text>", "if it is not known yet")
    .action(async ({ org, email, role, firstName, lastName }: AddOptions) => {
      const pool = await context.pool();
      const { rows } = await pool.query<Member>(
        `select ${MEMBER} from app_private.add_member($1, $2, $3, $4, $5)`,
        [org, email, role, firstName ?? null, lastName ?? null],
      );
      const added = rows[0]!;
      context.print(added, `${added.email} is ${added.role} of ${added.orgUri}.`);
    });

  members
    .command("list")
    .description("List the members of an organization, by e-mail")
    .requiredOption("--org <uri>", "the organization's URI")
    .action(async ({ org }: { org: string }) => {
      const pool = await context.pool();
      const { rows } = await pool.query<Member>(`select ${MEMBER} from app_private.members_of($1)`, [org]);
      context.print(
        rows,
        table(
          ["e-mail", "role", "status", "since", "name"],
          rows.map((row) => [
            row.email,
            row.role,
            row.status,
            row.createdAt.slice(0, 10),
            [row.firstName, row.lastName].filter(Boolean).join(" "),
          ]),
        ),
      );
    });

  members
    .command("status")
    .description("Suspend or revoke a membership, or make it active again")
    .requiredOption("--org <uri>", "the organization's URI")
    .requiredOption("--email <email>", "the member")
    .addOption(
      new Option("--status <status>", "what the membership is to be").choices(STATUSES).makeOptionMandatory(),
    )
    .action(async ({ org, email, status }: StatusOptions) => {
      const pool = await context.pool();
      const { rows } = await pool.query<Member>(
        `select ${MEMBER} from app_private.change_member($1, $2, null, $3)`,
        [org, email, status],
      );
      const changed = rows[0]!;
      context.print(changed, `The membership of ${changed.email} in ${changed.orgUri} is ${changed.status}.`);
    });
}
