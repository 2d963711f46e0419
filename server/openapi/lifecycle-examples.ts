// The examples of needs, commitments, engagement claims, the vocabulary, and church search.
import { commitments, demoId, engagementClaims, needs } from "../../db/demo/records.ts";
import { church as churchRecord } from "../resources/church-schemas.ts";
import type { Example } from "./examples.ts";

/** When everything in the examples happened. */
export const WHEN = "2026-03-02T09:30:00.000000+00:00";
const NEW_ID = "8c6f4c0e-3f0f-4d52-a4a8-7d0f2b7d9d11";

/** @see examplesOf */
export function lifecycleExamples(graphDataUrl: string): Record<string, Example> {
  const org = (slug: string) => `${graphDataUrl}/org/${slug}`;
  const [needId, commitmentId, claimId] = [
    demoId("need", 0),
    demoId("commitment", 0),
    demoId("engagement claim", 0),
  ];
  const stamps = { createdAt: WHEN, updatedAt: WHEN, graphStatus: "synced" };
  const need = {
    needId,
    orgUri: org("northern-light"),
    orgName: "Northern Light Fellowship",
    declaredByEmail: "admin@northern-light.example",
    needDescription: needs[0]!.description,
    accelerators: needs[0]!.accelerators,
    concernsPeopleGroupRop3: needs[0]!.rop3,
    concernsCountryCode: needs[0]!.countries,
    status: "open",
    ...stamps,
  };
  const commitment = {
    commitmentId,
    orgUri: org("harbor-scripture"),
    orgName: "Harbor Scripture Partners",
    declaredByEmail: "contributor@harbor-scripture.example",
    commitmentDescription: commitments[0]!.description,
    acceleratorScope: commitments[0]!.accelerators,
    concernsNeedId: needId,
    concernsPeopleGroupRop3: commitments[0]!.rop3,
    concernsCountryCode: commitments[0]!.countries,
    targetCompletionDate: "2027-01-31",
    status: "in_progress",
    ...stamps,
  };
  const claim = {
    claimId,
    orgUri: org("harbor-scripture"),
    orgName: "Harbor Scripture Partners",
    claimedByEmail: "contributor@harbor-scripture.example",
    engagementAccelerators: engagementClaims[0]!.accelerators,
    peopleGroupRop3: engagementClaims[0]!.rop3,
    peopleGroupName: null,
    peopleGroupRog3: engagementClaims[0]!.rog3,
    countryCode: engagementClaims[0]!.country,
    countryName: engagementClaims[0]!.countryName,
    description: engagementClaims[0]!.description,
    fulfillsCommitmentId: commitmentId,
    status: "active",
    ...stamps,
  };
  const church = {
    ...Object.fromEntries(Object.keys(churchRecord.shape).map((column) => [column, null])),
    church_id: "us-el-cajon-shadow-mountain",
    name: "Shadow Mountain Community Church",
    latitude: 32.8,
    longitude: -116.91,
    address: "2100 Greenfield Drive",
    locality: "El Cajon",
    region: "CA",
    postal_code: "92019",
    country: "US",
    website: "https://www.shadowmountain.org",
    belief_type: "protestant",
    denomination: "Southern Baptist",
    created_at: WHEN,
    updated_at: WHEN,
  };
  const found = {
    church_id: church.church_id,
    name: church.name,
    locality: church.locality,
    country: church.country,
    distance_m: 4941.2,
  };
  const page = { limit: 3, has_more: true, next_cursor: "eyJkIjo0OTQxLjJ9" };
  return {
    listNeeds: {
      scope: "api_read",
      query: { status: "open", countryCode: "NE", limit: 10 },
      answer: { needs: [need], total: 1 },
    },
    getNeed: { scope: "api_read", params: { needId }, answer: need },
    declareNeed: {
      scope: "api_write",
      body: {
        orgUri: org("northern-light"),
        orgName: "Northern Light Fellowship",
        declaredByEmail: "contributor@northern-light.example",
        needDescription: "Solar players for listening groups in two camps.",
        accelerators: ["SRA-AUD"],
        concernsPeopleGroupRop3: ["104567"],
        concernsCountryCode: ["NE"],
      },
      answer: { needId: NEW_ID, status: "open" },
    },
    updateNeedStatus: {
      scope: "api_write",
      body: { needId, status: "partially_met", actorEmail: "contributor@northern-light.example" },
      answer: { needId, status: "partially_met" },
    },

    listCommitments: {
      scope: "api_read",
      query: { concernsNeedId: needId, status: "in_progress", limit: 10 },
      answer: { commitments: [commitment], total: 1 },
    },
    getCommitment: { scope: "api_read", params: { commitmentId }, answer: commitment },
    declareCommitment: {
      scope: "api_write",
      body: {
        orgUri: org("open-well"),
        orgName: "Open Well Relief",
        declaredByEmail: "contributor@open-well.example",
        commitmentDescription: "Bring thirty solar players with the next supply run.",
        acceleratorScope: ["SRA-AUD"],
        concernsNeedId: needId,
        concernsPeopleGroupRop3: ["104567"],
        concernsCountryCode: ["NE"],
        targetCompletionDate: "2027-06-30",
      },
      answer: { commitmentId: NEW_ID, status: "declared" },
    },
    updateCommitmentStatus: {
      scope: "api_write",
      body: { commitmentId, status: "fulfilled", actorEmail: "contributor@harbor-scripture.example" },
      answer: { commitmentId, status: "fulfilled" },
    },

    listEngagementClaims: {
      scope: "api_read",
      query: { orgUri: org("harbor-scripture"), countryCode: "NE", limit: 10 },
      answer: { claims: [claim], total: 1 },
    },
    getEngagementClaim: { scope: "api_read", params: { claimId }, answer: claim },
    submitEngagementClaim: {
      scope: "api_write",
      body: {
        orgUri: org("harbor-scripture"),
        orgName: "Harbor Scripture Partners",
        claimedByEmail: "contributor@harbor-scripture.example",
        engagementAccelerators: ["SRA-AUD"],
        peopleGroupRop3: "104567",
        countryCode: "NE",
        countryName: "Niger",
        description: "Twenty more stories are recorded.",
        fulfillsCommitmentId: commitmentId,
      },
      answer: { claimId: NEW_ID, status: "active" },
    },
    updateEngagementClaimStatus: {
      scope: "api_write",
      body: { claimId, status: "completed", actorEmail: "contributor@harbor-scripture.example" },
      answer: { claimId, status: "completed" },
    },

    listAccelerators: {
      scope: "api_read",
      answer: {
        accelerators: [
          {
            code: "SRA-AUD",
            kind: "function",
            prefLabel: "Audio Scripture",
            definition: null,
            broader: "SRA",
            conceptUri: "https://ontology.example.org/core#accelerator-SRA-AUD",
            deprecated: false,
          },
        ],
        total: 1,
      },
    },

    searchChurches: {
      scope: "api_read",
      query: {
        center_lat: 32.7948,
        center_lng: -116.9625,
        radius_km: 25,
        limit: 3,
        fields: "church_id,name,locality,country,distance_m",
      },
      answer: { items: [found], ...page },
      alternatives: {
        "application/geo+json": {
          type: "FeatureCollection",
          features: [
            {
              type: "Feature",
              id: church.church_id,
              geometry: { type: "Point", coordinates: [church.longitude, church.latitude] },
              properties: found,
            },
          ],
          ...page,
        },
      },
    },
    getChurch: { scope: "api_read", params: { id: church.church_id }, answer: church },

    getHealth: {
      scope: "api_read",
      answer: { status: "ok", tripleCount: 214, pending: 0, oldestPendingSeconds: 0, rejected: 0 },
    },
  };
}
