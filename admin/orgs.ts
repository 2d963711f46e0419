import type { Command } from "commander";
import { AdminError } from "./context.ts";
import type { AdminContext } from "./context.ts";

type OrgOptions = { uri: string; name: string; domain?: string; type?: string; website?: string };

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
    .action(async (options: OrgOptions) => {
      const pool = await context.pool();
      const { rows: problems } = await pool.query<{ path: string; message: string }>(
        `select path, message from jsonb_to_recordset(
           app_private.http_uri_problems('--uri', $1)
           || app_private.text_problems('--name', app_private.trimmed($2))
           || case when $3::text is null then '[]' else app_private.http_uri_problems('--website', $3) end
         ) as problem (path text, message text)`,
        [options.uri, options.name, options.website ?? null],
      );
      if (problems.length > 0) {
        throw new AdminError(problems.map(({ path, message }) => `${path} ${message}`).join("; "));
      }
      const domain = options.domain === undefined ? null : checkedDomain(options.domain);
      const { rows } = await pool.query<{ orgUri: string; name: string }>(
        `insert into app_public.organizations (org_uri, name, domain, type, website)
         values ($1, $2, $3, $4, $5)
         on conflict (org_uri) do nothing
         returning org_uri as "orgUri", name, type, website, domain`,
        [options.uri, options.name, domain, options.type ?? null, options.website ?? null],
      );
      const [added] = rows;
      if (!added) throw new AdminError(`There is already an organization with the URI ${options.uri}.`);
      context.print(added, `Added ${added.name}, ${added.orgUri}`);
    });
}

function checkedDomain(text: string): string {
  const domain = text.trim().toLowerCase();
  if (!/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(domain)) {
    throw new AdminError("--domain must be a domain name such as example.org");
  }
  return domain;
}
