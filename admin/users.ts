import { Option } from "commander";
import type { Command } from "commander";
import { enums } from "../db/catalog.ts";
import { table } from "./context.ts";
import type { AdminContext } from "./context.ts";

const ROLES = enums.platform_role;

type RoleOptions = { email: string; role: (typeof ROLES)[number] };
type User = {
  userId: string;
  email: string;
  firstName: string | null;
  lastName: string | null;
  platformRoles: string[];
  organizations: number;
  createdAt: string;
};

const USER = `user_id as "userId", email, first_name as "firstName", last_name as "lastName",
  platform_roles::text[] as "platformRoles", cardinality(memberships) as organizations,
  to_json(created_at) as "createdAt"`;

/** users grant, revoke, list. */
export function registerUsers(program: Command, context: AdminContext): void {
  const users = program.command("users").description("People, and what they may do on the platform");

  const roleCommand = (name: string, description: string) =>
    users
      .command(name)
      .description(description)
      .requiredOption("--email <email>", "the person")
      .addOption(
        new Option("--role <role>", "admin: everything; support: review claims and see users")
          .choices(ROLES)
          .makeOptionMandatory(),
      );

  roleCommand("grant", "Give a person a role on the platform, adding them if they are not known yet").action(
    async ({ email, role }: RoleOptions) => {
      const pool = await context.pool();
      const { rows } = await pool.query<User>(
        `select ${USER}
         from app_private.change_platform_role(app_private.remember_user($1, null, null), $2, 'grant')`,
        [email, role],
      );
      const user = rows[0]!;
      context.print(user, `${user.email} is ${user.platformRoles.join(" and ")} on the platform.`);
    },
  );

  roleCommand("revoke", "Take a role on the platform away from a person").action(
    async ({ email, role }: RoleOptions) => {
      const pool = await context.pool();
      const { rows } = await pool.query<User>(
        `select ${USER}
         from app_private.change_platform_role(app_private.known_user($1), $2, 'revoke')`,
        [email, role],
      );
      const user = rows[0]!;
      context.print(
        user,
        `${user.email} is ${user.platformRoles.join(" and ") || "without a role"} on the platform.`,
      );
    },
  );

  users
    .command("list")
    .description("List everybody the service knows, newest first")
    .action(async () => {
      const pool = await context.pool();
      const { rows } = await pool.query<User>(
        `select ${USER}
         from (select found.* from app_public.users as u, lateral app_private.platform_user(u) as found) as listed
         order by created_at desc, user_id desc`,
      );
      context.print(
        rows,
        table(
          ["e-mail", "platform", "organizations", "since", "name"],
          rows.map((row) => [
            row.email,
            row.platformRoles.join(", ") || "-",
            row.organizations,
            row.createdAt.slice(0, 10),
            [row.firstName, row.lastName].filter(Boolean).join(" "),
          ]),
        ),
      );
    });
}
