// What the fields mean, for those who read the schema. The database's own comments speak of tables and functions;
// these are of columns and of the links between records.
import { jsonPgSmartTags } from "postgraphile/utils";
import { CHURCH_COLUMNS } from "../../db/churches/columns.ts";
import { codeDefinitions } from "../../graph/ontology.ts";
import { RECORDS } from "../../records/index.ts";

const attribute = (descriptions: Record<string, string>) =>
  Object.fromEntries(Object.entries(descriptions).map(([name, description]) => [name, { description }]));

const link = (forwardDescription: string, backwardDescription: string) => ({
  tags: { forwardDescription, backwardDescription },
});

const record = {
  org_name: "Its display name when the record was made.",
  status: "Any status can be followed by any other.",
  created_at: "When the record was made.",
  updated_at: "When its status was last set.",
};

const scope = {
  concerns_people_group_rop3: "People groups concerned: ROP3 codes of six digits.",
  concerns_country_code: "Countries concerned: ISO 3166-1 alpha-2.",
};

export const DescriptionsPlugin = jsonPgSmartTags(
  {
    version: 1,
    config: {
      class: {
        "app_public.needs": {
          attribute: attribute({
            ...record,
            ...scope,
            need_id: "The need's identifier, here, in REST and in the graph.",
            org_uri: "Graph URI of the organization that declared it.",
            declared_by_email: "Who declared it, for the organization.",
            need_description: "What is needed.",
            accelerators: "Codes of the accelerator scheme; at least one.",
          }),
          constraint: {
            needs_org_uri_fkey: link(
              "The organization that declared it; null while it is not public.",
              "Needs that the organization declared.",
            ),
          },
        },
        "app_public.commitments": {
          attribute: attribute({
            ...record,
            ...scope,
            commitment_id: "The commitment's identifier, here, in REST and in the graph.",
            org_uri: "Graph URI of the organization that committed itself.",
            declared_by_email: "Who declared it, for the organization.",
            commitment_description: "What the organization commits itself to.",
            accelerator_scope: "Codes of the accelerator scheme; at least one.",
            concerns_need_id: "The need that it answers, where it answers one.",
            target_completion_date: "When it should be done: YYYY-MM-DD.",
          }),
          constraint: {
            commitments_org_uri_fkey: link(
              "The organization that committed itself; null while it is not public.",
              "Commitments that the organization made.",
            ),
            commitments_concerns_need_id_fkey: link(
              "The need that it answers, where it answers one.",
              "Commitments that answer the need, of whatever organization.",
            ),
          },
        },
        "app_public.engagement_claims": {
          attribute: attribute({
            ...record,
            claim_id: "The engagement claim's identifier, here, in REST and in the graph.",
            org_uri: "Graph URI of the organization that attests.",
            claimed_by_email: "Who attested it, for the organization.",
            engagement_accelerators: "Codes of the accelerator scheme; at least one.",
            people_group_rop3: "The people group that was engaged: a ROP3 code of six digits.",
            people_group_name: "Its display name.",
            people_group_rog3: "ROG3 code of the country that the people group is meant in.",
            country_code: "The country: ISO 3166-1 alpha-2.",
            country_name: "Its display name.",
            description: "What took place, in free text.",
            fulfills_commitment_id: "The commitment that it fulfils, where it fulfils one.",
          }),
          constraint: {
            engagement_claims_org_uri_fkey: link(
              "The organization that attests; null while it is not public.",
              "Engagement that the organization attested.",
            ),
            engagement_claims_fulfills_commitment_id_fkey: link(
              "The commitment that it fulfils, where it fulfils one.",
              "Engagement that fulfils the commitment, of whatever organization.",
            ),
          },
        },
        "app_public.status_history": {
          attribute: attribute({
            from_status: "Null where the record was made.",
            changed_by_email: "Who set it; null where the service itself did.",
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
              "Its registered e-mail domain: whoever has an address there may be believed to belong to it.",
          }),
        },
        "app_public.churches": {
          attribute: attribute(
            Object.fromEntries(
              Object.entries(CHURCH_COLUMNS).flatMap(([name, { description }]) =>
                description === undefined ? [] : [[name, description]],
              ),
            ),
          ),
        },
        "app_public.accelerators": {
          attribute: attribute({
            code: "The SKOS notation, such as PRA-INT.",
            concept_uri: "URI of the concept in the graph.",
            kind: "accelerator: one of the broad ones; function: one of those below them.",
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

// What the statuses of records mean is said in the ontology; this one is not in the graph, but of it.
const GRAPH_STATUS = new Map([
  ["pending", "The graph does not hold the current revision yet."],
  ["synced", "The graph holds the current revision."],
  ["rejected", "The load check refused the record; graphErrors says why."],
]);

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
          : context.Self.name === "GraphStatus" && GRAPH_STATUS;
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
