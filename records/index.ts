// The three kinds of record. Each is described once, in the file that bears its name.
import { commitment } from "./commitment.ts";
import { engagementClaim } from "./engagement-claim.ts";
import { need } from "./need.ts";
import type { RecordDescription, RecordKind } from "./record.ts";

/** By kind, in the order of the chain from need to engagement. */
export const RECORDS: Readonly<Record<RecordKind, RecordDescription>> = {
  need,
  commitment,
  engagement_claim: engagementClaim,
};

export const RECORD_KINDS = Object.keys(RECORDS) as readonly RecordKind[];
