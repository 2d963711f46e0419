// Descriptions of the schema's fields. Those of tables and functions are comments in the database, those of
// most columns are in records/ and db/churches/, and the links between records are described here.
import { jsonPgSmartTags } from "postgraphile/utils";
import { CHURCH_COLUMNS } from "../../db/churches/columns.ts";
import { codeDefinitions } from "../../graph/ontology.ts";
import { commitment } from "../../records/commitment.ts";
import { engagementClaim } from "../../records/engagement-claim.ts";
import { RECORDS } from "../../records/index.ts";
import { need } from "../../records/need.ts";
import { fieldsOf } from "../../records/record.ts";
import type { RecordDescription } from "../../records/record.ts";

const attribute = (descriptions: Record<string, string>) =>
  Object.fromEntries(Object.entries(descriptions).map(([name, description]) => [name, { description }]));

const link = (forwardDescription: string, backwardDescription: string) => ({
  tags: { forwardDescription, backwardDescription },
});

const attributesOf = (record: RecordDescription) =>
  attribute(Object.fromEntries(fieldsOf(record).map(({ column, description }) => [column, description])));

export const DescriptionsPlugin = jsonPgSmartTags(
  {
    version: 1,
    config: {
      class: {
        "app_public.needs": {
          attribute: attributesOf(need),
          constraint: {
            needs_org_uri_fkey: link(
              "The organization that declared it; null while it is not public.",
              "Needs that the organization declared.",
            ),
          },
        },
        "app_public.commitments": {
          attribute: attributesOf(commitment),
          constraint: {
            commitments_org_uri_fkey: link(
              "The organization that committed itself; null while it is not public.",
              "Commitments that the organization made.",
            ),
            commitments_concerns_need_id_fkey: link(
              "The need that it answers, if any.",
              "Commitments that answer the need, by any organization.",
            ),
          },
        },
        "app_public.engagement_claims": {
          attribute: attributesOf(engagementClaim),
          constraint: {
            engagement_claims_org_uri_fkey: link(
              "The organization that attests; null while it is not public.",
              "Engagement that the organization attested.",
            ),
            engagement_claims_fulfills_commitment_id_fkey: link(
              "The commitment that it fulfils, if any.",
              "Engagement that fulfils the commitment, by any organization.",
            ),
          },
        },
        "app_public.status_history": {
          attribute: attribute({
            from_status: "The status before; null for the first of a record.",
            changed_by_key: "The id of the API key it was set with; only keys that may review see it.",
            changed_by_identity:
              "The issuer and the subject of the person's token, if one called; only keys that may review see it.",
            changed_through: "The program it was set through; only keys that may review see it.",
            request_id: "The X-Request-Id of the request that set it; only keys that may review see it.",
          }),
          constraint: {
            status_history_need_id_fkey: link("The need.", "Every status it has had, oldest first."),
            status_history_commitment_id_fkey: link(
              "The commitment.",
              "Every status it has had, oldest first.",
            ),
            status_history_engagement_claim_id_fkey: link(
              "The engagement claim.",
              "Every status it has had, oldest first.",
            ),
          },
        },
        "app_public.organizations": {
          attribute: attribute({
            org_uri: "The URI that names the organization in the graph.",
            domain:
              "Its registered e-mail domain: anybody with an address there may be assumed to belong to it.",
          }),
        },
        "app_public.churches": {
          attribute: Object.fromEntries(
            Object.entries(CHURCH_COLUMNS).map(([name, { description, deprecated }]) => [
              name,
              {
                description,
                ...(deprecated && { tags: { deprecated: description } }),
              },
            ]),
          ),
        },
        "app_public.accelerators": {
          attribute: attribute({
            code: "The SKOS notation, such as PRA-INT.",
            concept_uri: "URI of the concept in the graph.",
            kind: "accelerator: a broad category; function: one of the categories below an accelerator.",
            pref_label: "The SKOS preferred label.",
            definition: "The SKOS definition.",
          }),
          constraint: {
            accelerators_broader_code_fkey: link(
              "The accelerator that it belongs to.",
              "The functions below it.",
            ),
          },
        },
      },
    },
  },
  null,
  { name: "DescriptionsPlugin" },
);

// The ontology defines the statuses of records, but not this one, which is about the graph itself.
const GRAPH_STATUS = new Map([
  ["pending", "The graph does not hold the current revision yet."],
  ["synced", "The graph holds the current revision."],
  ["rejected", "The load check refused the record; graphErrors says why."],
]);

const OTHER_STATUSES: Readonly<Record<string, () => Map<string, string>>> = {
  GraphStatus: () => GRAPH_STATUS,
  RecordStatus: () =>
    new Map(Object.values(RECORDS).flatMap(({ fields }) => [...codeDefinitions(fields.status.graph)])),
};

export const StatusDescriptionsPlugin: GraphileConfig.Plugin = {
  name: "StatusDescriptionsPlugin",
  schema: {
    hooks: {
      GraphQLEnumType_values(values, build, context) {
        const record = Object.values(RECORDS).find(
          ({ statuses }) => build.inflection.upperCamelCase(statuses) === context.Self.name,
        );
        const definitions = record
          ? codeDefinitions(record.fields.status.graph)
          : OTHER_STATUSES[context.Self.name]?.();
        if (!definitions) return values;
        return Object.fromEntries(
          Object.entries(values).map(([name, value]) => [
            name,
            { ...value, description: definitions.get(name) },
          ]),
        );
      },
    },
  },
};
