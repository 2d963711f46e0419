// What npm start prints when everything is running: addresses, and a command for each step of the lifecycle.
import type pg from "pg";
import { showsMails } from "../config.ts";
import type { Config } from "../config.ts";
import { DEMO_KEY, demoKeyIsLive, demoOrgUri } from "../db/demo/load.ts";
import { DEMO_REVIEWER } from "../db/demo/records.ts";

/**
 * The text for the terminal.
 * @param url where the server listens
 * @param db the commands refer to its first linked records
 */
export async function greeting(config: Config, url: string, db: pg.Pool): Promise<string> {
  const lines = [
    `The service is at ${url}`,
    "",
    `  Overview        ${url}/`,
    `  API reference   ${url}/docs`,
    `  GraphiQL        ${url}/graphiql`,
    `  SPARQL page     ${url}/sparql`,
    `  Claim review    ${url}/admin/claims`,
    `  Sign in         ${url}/sign-in${!config.signIn && showsMails(config) ? "   (the mail with the link is shown here)" : ""}`,
    `  REST            ${url}/v0`,
    `  GraphQL         ${url}/graphql`,
    `  SPARQL          ${url}/v0/sparql`,
    `  MCP tools       ${url}/v0/mcp`,
    `  Health          ${url}/readyz`,
  ];
  if (await demoKeyIsLive(db)) {
    lines.push("", `Demo key (loopback only): ${DEMO_KEY}`);
    lines.push(`Demo reviewer (sign in with this address to review claims): ${DEMO_REVIEWER}`, "");
    lines.push("Declare a need, commit to it, attest the work, and read the chain back:", "");
    lines.push(...(await lifecycle(config, url, db)).flatMap((command) => [command, ""]));
  } else {
    lines.push("", "Issue a key: npm run admin -- keys issue --label <text> --scope api_write", "");
  }
  lines.push("Ctrl-C stops it; what was written stays.");
  return lines.join("\n");
}

async function lifecycle(config: Config, url: string, db: pg.Pool): Promise<string[]> {
  const { rows } = await db.query<{ need_id: string; commitment_id: string }>(
    `select need_id, commitment_id
     from app_public.engagement_claims as e
     join app_public.commitments as c on c.commitment_id = e.fulfills_commitment_id
     join app_public.needs as n on n.need_id = c.concerns_need_id
     order by e.created_at limit 1`,
  );
  const [chain] = rows;
  const org = (slug: string) => demoOrgUri(config.graphDataUrl, slug);
  return [
    post(url, "/v0/needs", {
      orgUri: org("northern-light"),
      orgName: "Northern Light Fellowship",
      declaredByEmail: "contributor@northern-light.example",
      needDescription: "Audio Scripture for families who do not read.",
      accelerators: ["SRA-AUD"],
      concernsCountryCode: ["NE"],
    }),
    post(url, "/v0/commitments", {
      orgUri: org("harbor-scripture"),
      orgName: "Harbor Scripture Partners",
      declaredByEmail: "contributor@harbor-scripture.example",
      commitmentDescription: "Record forty audio stories.",
      acceleratorScope: ["SRA-AUD"],
      ...(chain && { concernsNeedId: chain.need_id }),
    }),
    post(url, "/v0/engagement-claims/submit", {
      orgUri: org("open-well"),
      orgName: "Open Well Relief",
      claimedByEmail: "contributor@open-well.example",
      engagementAccelerators: ["SRA-AUD"],
      countryCode: "NE",
      description: "The first ten stories are played at the wells.",
      ...(chain && { fulfillsCommitmentId: chain.commitment_id }),
    }),
    `curl -s ${url}/v0/sparql -H 'authorization: Bearer ${DEMO_KEY}' -H 'content-type: application/sparql-query' -d '${chainQuery(config.namespaceUrl)}'`,
  ];
}

function post(url: string, path: string, body: Record<string, unknown>): string {
  return `curl -s ${url}${path} -H 'authorization: Bearer ${DEMO_KEY}' -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
}

function chainQuery(namespaceUrl: string): string {
  return [
    `PREFIX ns: <${namespaceUrl}>`,
    "SELECT ?need ?commitment ?attestation WHERE {",
    "?commitment ns:concernsNeed ?need . ?attestation ns:fulfillsCommitment ?commitment }",
  ].join(" ");
}
