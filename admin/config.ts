import type { Command } from "commander";
import { readSettings, SECRETS, VARIABLES, type Config } from "../config.ts";
import type { AdminContext } from "./context.ts";

const MASK = "********";

/** config: the effective configuration. */
export function registerConfig(program: Command, context: AdminContext): void {
  program
    .command("config")
    .description("Show the effective configuration, with secrets masked")
    .action(() => {
      const shown = { ...shownSettings(context.config), ...context.config.secretFiles };
      context.print(
        shown,
        Object.entries(shown).map(([name, value]) => `${name}=${value ?? UNSET[name] ?? "(unset)"}`),
      );
    });
}

/** Each variable with its value, but for FUSEKI_URL: instead of it, the three URLs that follow from it. */
function shownSettings({ graphStore, sparqlConcurrency }: Config) {
  const { settings } = readSettings();
  const values: Readonly<Partial<Record<(typeof VARIABLES)[number], string | number | boolean | undefined>>> =
    {
      ...settings,
      SPARQL_QUERY_URL: graphStore?.queryUrl,
      SPARQL_UPDATE_URL: graphStore?.updateUrl,
      SPARQL_GRAPH_STORE_URL: graphStore?.graphStoreUrl,
      SPARQL_CONCURRENCY: sparqlConcurrency,
      CORS_ORIGINS: settings.CORS_ORIGINS.join(","),
      OIDC_ISSUER: settings.OIDC_ISSUER?.map(({ issuer, domains }) => [issuer, ...domains].join(" ")).join(
        ",",
      ),
      TRUST_PROXY: String(settings.TRUST_PROXY),
    };
  return Object.fromEntries(
    VARIABLES.filter((name) => name !== "FUSEKI_URL").map((name) => {
      const value = values[name];
      if (value === undefined) return [name, null];
      return [name, SECRETS.includes(name) ? masked(name, String(value)) : value];
    }),
  );
}

const UNSET: Record<string, string> = {
  DATABASE_URL: "(unset: embedded PostgreSQL)",
  DATABASE_LISTEN_URL: "(unset: as DATABASE_URL)",
  DATABASE_READ_URL: "(unset: no replica)",
  SPARQL_QUERY_URL: "(unset: embedded graph store)",
  SPARQL_UPDATE_URL: "(unset: embedded graph store)",
  SPARQL_GRAPH_STORE_URL: "(unset: embedded graph store)",
  PLATFORM_URL: "(unset: the service's own URL)",
  SMTP_URL: "(unset: mail is logged and kept)",
  OIDC_CLIENT_ID: "(unset: links by mail sign in)",
  METRICS_PORT: "(unset: off)",
};

function masked(name: string, text: string): string {
  return name.endsWith("_URL") ? maskedUrl(text) : MASK;
}

// A password can be in the user part and, for PostgreSQL, in the query string.
function maskedUrl(text: string): string {
  const url = new URL(text);
  if (url.password) url.password = MASK;
  for (const name of url.searchParams.keys()) {
    if (/pass|pwd|secret|token|key|auth|cred|sig/i.test(name)) url.searchParams.set(name, MASK);
  }
  return url.href;
}
