// Exceptions from the general rules in this folder, which would expose too much here or name it badly.
import { jsonPgSmartTags } from "postgraphile/utils";

const HIDDEN = { behavior: "-*" };
const WITHOUT_AGGREGATES = { behavior: "-aggregates -groupedAggregates" };

export const TagsPlugin = jsonPgSmartTags(
  {
    version: 1,
    config: {
      class: {
        "app_public.accelerators": {
          constraint: { accelerators_broader_code_fkey: { tags: { foreignFieldName: "narrower" } } },
        },
        "app_public.status_history": {
          tags: {
            name: "status_change",
            behavior: "-query:resource:single",
          },
          // An average of ids means nothing.
          attribute: {
            status_history_id: {
              tags: { behavior: "-attribute:aggregate +distinctCount:attribute:aggregate" },
            },
          },
          constraint: {
            status_history_need_id_fkey: { tags: { foreignFieldName: "statusHistory" } },
            status_history_commitment_id_fkey: { tags: { foreignFieldName: "statusHistory" } },
            status_history_engagement_claim_id_fkey: { tags: { foreignFieldName: "statusHistory" } },
          },
        },
        "app_public.countries": { tags: WITHOUT_AGGREGATES },
        "app_public.people_groups": { tags: WITHOUT_AGGREGATES },
        // The enum of the same name keeps that name.
        "app_public.platform_roles": { tags: { name: "platform_role_grant" } },
        // The enum of the same name keeps that name.
        "app_public.organization_roles": { tags: { ...HIDDEN, name: "organization_role_words" } },
        "app_public.organization_permissions": { tags: HIDDEN },
        "app_public.platform_permissions": { tags: HIDDEN },
        // Churches are found through their search, whose cost does not grow with their number.
        "app_public.churches": {
          tags: { behavior: "-query:resource:connection -filter -order -aggregates -groupedAggregates" },
          constraint: {
            churches_country_fkey: {
              tags: {
                behavior: "-singularRelation:resource:single -manyRelation:resource:connection -filterBy",
              },
            },
          },
        },
      },
      procedure: {
        "app_public.organizations_activity": { tags: { behavior: "+filterProc" } },
        "app_public.needs_graph_status": { tags: { behavior: "+filterBy" } },
        "app_public.commitments_graph_status": { tags: { behavior: "+filterBy" } },
        "app_public.engagement_claims_graph_status": { tags: { behavior: "+filterBy" } },
      },
    },
  },
  null,
  { name: "TagsPlugin" },
);
