// The examples of needs, commitments, engagement claims, the vocabulary, and health.
import { commitments, demoId, engagementClaims, needs } from "../../db/demo/records.ts";
import { fieldsOf } from "../../records/record.ts";
import type { RecordDescription } from "../../records/record.ts";
import { commitment } from "../../records/commitment.ts";
import { engagementClaim } from "../../records/engagement-claim.ts";
import { need } from "../../records/need.ts";
import { WHEN } from "./example.ts";
import type { Example } from "./example.ts";

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
  const needItem = itemOf(need, {
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
  });
  const commitmentItem = itemOf(commitment, {
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
  });
  const claimItem = itemOf(engagementClaim, {
    claimId,
    orgUri: org("harbor-scripture"),
    orgName: "Harbor Scripture Partners",
    claimedByEmail: "contributor@harbor-scripture.example",
    engagementAccelerators: engagementClaims[0]!.accelerators,
    peopleGroupRop3: engagementClaims[0]!.rop3,
    peopleGroupRog3: engagementClaims[0]!.rog3,
    countryCode: engagementClaims[0]!.country,
    countryName: engagementClaims[0]!.countryName,
    description: engagementClaims[0]!.description,
    fulfillsCommitmentId: commitmentId,
    status: "active",
    ...stamps,
  });
  const history = (status: string, changedByEmail: string) => ({
    history: [{ status, changedAt: WHEN, changedByEmail }],
  });
  return {
    getNeedHistory: {
      scope: "api_read",
      params: { needId },
      answer: history("open", "admin@northern-light.example"),
    },
    getCommitmentHistory: {
      scope: "api_read",
      params: { commitmentId },
      answer: history("declared", "contributor@harbor-scripture.example"),
    },
    getEngagementClaimHistory: {
      scope: "api_read",
      params: { claimId },
      answer: history("active", "contributor@harbor-scripture.example"),
    },
    listNeeds: {
      scope: "api_read",
      query: { status: "open", countryCode: "NE", limit: 10 },
      answer: { needs: [needItem], total: 2 },
    },
    getNeed: { scope: "api_read", params: { needId }, answer: needItem },
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
      answer: { commitments: [commitmentItem], total: 1 },
    },
    getCommitment: { scope: "api_read", params: { commitmentId }, answer: commitmentItem },
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
      answer: { claims: [claimItem], total: 1 },
    },
    getEngagementClaim: { scope: "api_read", params: { claimId }, answer: claimItem },
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

    listChanges: {
      scope: "api_read",
      query: { kind: "need", limit: 10 },
      answer: {
        changes: [
          {
            cursor: "17-1772443800000000",
            kind: "need",
            id: needId,
            change: "created",
            changedAt: WHEN,
            orgUri: needItem["orgUri"],
            needId,
            fromStatus: null,
            toStatus: "open",
            item: needItem,
          },
        ],
        next: "98-1772443800000000",
        hasMore: false,
      },
    },

    listAccelerators: {
      scope: "api_read",
      answer: {
        accelerators: [
          {
            code: "SRA-AUD",
            kind: "function",
            prefLabel: "Audio Scripture",
            definition: "Recording and distributing Scripture in audio form.",
            broader: "SRA",
            conceptUri: "https://ontology.example.org/core#SRA-AUD",
            deprecated: false,
          },
        ],
        total: 61,
      },
    },

    getHealth: {
      scope: "api_read",
      answer: {
        status: "ok",
        tripleCount: 214,
        pending: 0,
        oldestPendingSeconds: 0,
        rejected: 0,
        pendingLists: [],
        graphState: "current",
        graphStateSince: "2026-11-21T09:30:00+00:00",
        verifiedAt: null,
        drift: null,
      },
    },
  };
}

/** An item in the order of its fields; what is not given is null. */
function itemOf(record: RecordDescription, given: Record<string, unknown>): Record<string, unknown> {
  const absent = fieldsOf(record).map(({ name, type }): [string, unknown] => [
    name,
    type.endsWith("s") && type !== "status" ? [] : null,
  ]);
  return { ...Object.fromEntries(absent), ...given };
}
