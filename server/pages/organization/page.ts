// The page of an organization: its data, records and members, and what its visitor may do. It is addressed as
// in REST: /organizations/{URI, percent-encoded}.
import { html } from "hono/html";
import type { ApiError } from "../../errors.ts";
import type { Page, Shown, Visit } from "../page.ts";
import { attempt, outcome } from "../parts/attempt.ts";
import { begin } from "../parts/text.ts";
import { about } from "./about.ts";
import { act, SENTENCES } from "./acts.ts";
import { appointment, belonging } from "./belonging.ts";
import { claims } from "./claims.ts";
import * as data from "./data.ts";
import { members } from "./members.ts";
import { records } from "./records.ts";

export const organization: Page = {
  path: "/organizations/:orgUri",
  show: (visit) => show(visit),
  act: (visit) =>
    attempt(
      visit,
      () => act(visit),
      (refusal) => show(visit, refusal),
    ),
};

async function show(visit: Visit, refusal?: ApiError): Promise<Shown> {
  const found = await data.find(visit);
  const { organization, standing } = found;
  const [listed, claimed] = await Promise.all([
    standing.permissions.includes("members:read") ? data.members(visit) : undefined,
    standing.reviews ? data.claims(visit) : undefined,
  ]);
  return {
    title: begin(organization.orgName, 120),
    content: html`${outcome(visit, SENTENCES, refusal)} ${about(visit, organization, standing, refusal)}
    ${records(visit, found)} ${listed ? members(visit, listed, found) : ""}
    ${claimed ? claims(visit, claimed) : ""} ${standing.appoints ? appointment(visit, refusal) : ""}
    ${belonging(visit, standing, refusal)}`,
  };
}
