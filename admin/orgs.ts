import type { Command } from "commander";
import { AdminError } from "./context.ts";
import type { AdminContext } from "./context.ts";

type OrgOptions = {
  uri: string;
  name: string;
  domain?: string | null;
  type?: string | null;
  website?: string | null;
};

/** orgs add. */
export function registerOrgs(program: Command, context: AdminContext): void {
  const orgs = program.command("orgs").description("Organizations");

  orgs
    .command("add")
    .description("Add an organization that people can then belong to")
    .requiredOption("--uri <uri>", "the URI that names it in the graph")
    .requiredOption("--name <text>", "its name")
    .option(
      "--domain <domain>",
      "the e-mail domain of its people; a first claim from it is approved automatically",
    )
    .option("--type <text>", "what kind of organization it is")
    .option("--website <url>", "its website")
    .action(async ({ uri, name, domain = null, type = null, website = null }: OrgOptions) => {
      const pool = await context.pool();
      const values = [uri, name, domain, type, website];
      const { rows: problems } = await pool.query<{ path: string; message: string }>(
        `select path, message from jsonb_to_recordset(
           app_private.http_uri_problems('--uri', $1)
           || app_private.name_problems('--name', app_private.trimmed($2))
           || app_private.own_domain_problems('--domain', $3)
           || app_private.name_problems('--type', app_private.trimmed($4), required => false)
           || case when app_private.trimmed($5) is null then '[]' else app_private.http_uri_problems('--website', app_private.trimmed($5)) end
         ) as problem (path text, message text)`,
        values,
      );
      if (problems.length > 0) {
        throw new AdminError(problems.map(({ path, message }) => `${path} ${message}`).join("; "));
      }
      const { rows } = await pool.query<{ orgUri: string; name: string }>(
        `insert into app_public.organizations (org_uri, name, domain, type, website)
         values ($1, $2, $3, $4, $5)
         on conflict (org_uri) do nothing
         returning org_uri as "orgUri", name, type, website, domain`,
        values,
      );
      const [added] = rows;
      if (!added) throw new AdminError(`There is already an organization with the URI ${uri}.`);
      context.print(added, `Added ${added.name}, ${added.orgUri}`);
    });
}
