// The organization that is claimed.
import { html } from "hono/html";
import type { Content } from "../page.ts";
import { begin, cut } from "../parts/text.ts";
import { organizationPath } from "../record/kinds.ts";
import type { Claim } from "./told.ts";
import { personOf } from "./told.ts";

/** In characters: how much of a link is shown. */
const LONGEST_LINK = 120;

const STATUS = {
  proposed: "proposed by this claim or another, not public",
  active: "public",
  rejected: "rejected",
} as const;

export function organization({
  organization: it,
  orgName,
  isNewOrg,
  newOrgType,
  newOrgWebsite,
  isDomainStated,
}: Claim): Content {
  const type = it.type ?? newOrgType;
  const site = it.website ?? newOrgWebsite;
  const asTheySay = isNewOrg ? ", as they say" : "";
  return html`<h3>Organization</h3>
    <dl>
      <dt>Name</dt>
      <dd>${linked(it)}${it.name === orgName ? "" : html`, when it was claimed <bdi>${orgName}</bdi>`}</dd>
      <dt>Website${asTheySay}</dt>
      <dd>${site === null ? "none" : website(site)}</dd>
      <dt>Type${asTheySay}</dt>
      <dd>${type === null ? "none" : cut(type)}</dd>
      <dt>Domain${isDomainStated ? ", as they say" : ", registered"}</dt>
      <dd>${it.domain === null ? "none" : html`<bdi>${it.domain}</bdi>`}</dd>
      <dt>Members</dt>
      <dd>${it.members}, of these administrators: ${it.administrators}${administrators(it)}</dd>
      <dt>Records</dt>
      <dd>needs: ${it.needs}, commitments: ${it.commitments}, attestations: ${it.engagementClaims}</dd>
      <dt>Status</dt>
      <dd>${STATUS[it.status]}</dd>
      <dt>URI</dt>
      <dd><bdi>${it.uri}</bdi></dd>
    </dl>`;
}

/** Its name, linked to its page if it has one: an organization that is only proposed has none. */
export function linked({
  uri,
  name,
  status,
}: Pick<Claim["organization"], "uri" | "name" | "status">): Content {
  return status === "active"
    ? html`<a href="${organizationPath(uri)}"><bdi>${name}</bdi></a>`
    : html`<bdi>${name}</bdi>`;
}

function administrators({ administrators, administratorsNamed }: Claim["organization"]): Content | string {
  if (administratorsNamed.length === 0) return "";
  const more = administrators - administratorsNamed.length;
  return html`<ul>
    ${administratorsNamed.map(
      (one) =>
        html`<li><bdi>${personOf(one)}</bdi>${one.name === null ? "" : html`, <bdi>${one.email}</bdi>`}</li>`,
    )}
    ${more > 0 ? html`<li>and ${more} more</li>` : ""}
  </ul>`;
}

/** A link only if it leads to a website, which learns nothing about our page. */
export function website(address: string): Content {
  const isWeb = URL.canParse(address) && ["http:", "https:"].includes(new URL(address).protocol);
  if (!isWeb) return cut(address);
  return html`<a href="${address}" rel="noopener noreferrer nofollow" target="_blank"
    ><bdi>${begin(address, LONGEST_LINK)}</bdi></a
  >`;
}
