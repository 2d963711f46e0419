// The load: needs, commitments, claims and changes of status over HTTP, and a log of what was acknowledged.
import { setTimeout as sleep } from "node:timers/promises";
import { enums } from "../db/catalog.ts";
import type { Random } from "./random.ts";
import { WRITER } from "./service.ts";
import type { Service } from "./service.ts";

export type Kind = (typeof enums.record_kind)[number];

/** A record whose creation was answered with 2xx. */
export type Acknowledged = {
  kind: Kind;
  id: string;
  description: string;
  codes: readonly string[];
  /** The status that was acknowledged last, and another one if a change was sent and not answered. */
  statuses: Set<string>;
};

/** What was written, over a whole scenario. */
export type Log = { records: Acknowledged[]; writes: number; unanswered: number };

export const newLog = (): Log => ({ records: [], writes: 0, unanswered: 0 });

export type Writer = { stop: () => Promise<void> };

const REQUEST_TIMEOUT_MS = 20_000;
const MOST_UNDER_WAY = 60;
const STATUSES: Record<Kind, readonly string[]> = {
  need: enums.need_status,
  commitment: enums.commitment_status,
  engagement_claim: enums.engagement_claim_status,
};
const PATHS: Record<Kind, { create: string; status: string; id: string }> = {
  need: { create: "needs", status: "needs/status", id: "needId" },
  commitment: { create: "commitments", status: "commitments/status", id: "commitmentId" },
  engagement_claim: { create: "engagement-claims/submit", status: "engagement-claims/status", id: "claimId" },
};
// Texts that can break escaping, encoding, or the reading of lines.
const TAILS = ["", ' "quoted" \\ back', " naïve 水 🜁", "\nsecond line\ttab", " <b>&amp;</b> }"];
const COUNTRIES = ["NE", "DE", "BR", "IN"];

/** Writes until it is stopped, at the given rate as long as the server answers that fast. */
export async function startWriter(
  service: Service,
  log: Log,
  random: Random,
  perSecond = 100,
): Promise<Writer> {
  const codes = (
    await service.sql<{ code: string }>(
      "select code from app_public.accelerators where deprecated_at is null order by code",
    )
  ).map((row) => row.code);
  // If there is a registry, codes that are not in it are refused.
  const registered = await service.sql<{ rop3: string }>("select rop3 from app_public.people_groups limit 5");
  const peopleGroups = registered.length > 0 ? registered.map((row) => row.rop3) : ["100425", "108003"];
  const underWay = new Set<Promise<void>>();
  const busy = new Set<Acknowledged>();
  const stopping = new AbortController();
  let refused: unknown;

  async function post(path: string, body: object): Promise<Record<string, string> | undefined> {
    try {
      const answer = await fetch(`${service.url}/v0/${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      const text = await answer.text();
      if (answer.status >= 400 && answer.status < 500) throw new RefusedWrite(`${path}: ${text}`);
      if (!answer.ok) throw new Error(text);
      log.writes += 1;
      return JSON.parse(text) as Record<string, string>;
    } catch (error) {
      if (error instanceof RefusedWrite) throw error;
      log.unanswered += 1;
      return undefined;
    }
  }

  async function create(): Promise<void> {
    const chance = random.next();
    const kind: Kind = chance < 0.6 ? "need" : chance < 0.8 ? "commitment" : "engagement_claim";
    const description = `Trial ${random.between(1, 1e9)}${random.pick(TAILS)}`;
    const chosen = random.shuffle(codes).slice(0, random.between(1, 3));
    const target = random.pick(log.records.filter((record) => record.kind === PREDECESSOR[kind]).slice(-50));
    const answer = await post(PATHS[kind].create, {
      orgUri: WRITER.orgUri,
      orgName: WRITER.orgName,
      ...BODIES[kind]({
        description,
        codes: chosen,
        country: random.pick(COUNTRIES),
        rop3: random.pick(peopleGroups),
        target: target?.id,
      }),
    });
    if (!answer) return;
    const id = answer[PATHS[kind].id]!;
    log.records.push({ kind, id, description, codes: chosen, statuses: new Set([answer["status"]!]) });
  }

  async function changeStatus(): Promise<void> {
    const record = random.pick(log.records);
    // After an unanswered change it is not known which of two statuses came last,
    // so the record is left alone.
    if (!record || busy.has(record) || record.statuses.size > 1) return create();
    busy.add(record);
    const status = random.pick(STATUSES[record.kind]);
    const { status: path, id } = PATHS[record.kind];
    const answer = await post(path, { [id]: record.id, status, actorEmail: WRITER.email });
    if (answer) record.statuses.clear();
    record.statuses.add(status);
    busy.delete(record);
  }

  async function work(): Promise<void> {
    const start = Date.now();
    for (let sent = 0; !stopping.signal.aborted;) {
      const due = Math.floor(((Date.now() - start) / 1000) * perSecond);
      for (; sent < due; sent += 1) {
        if (underWay.size >= MOST_UNDER_WAY) continue;
        const write = (random.next() < 0.25 ? changeStatus() : create()).finally(() =>
          underWay.delete(write),
        );
        underWay.add(write);
        write.catch((error: unknown) => (refused ??= error));
      }
      await sleep(10);
    }
    await Promise.allSettled(underWay);
  }

  const working = work();
  return {
    stop: async () => {
      stopping.abort();
      await working;
      if (refused) throw refused;
    },
  };
}

/** A write that the service refused for its content: the trial itself is wrong. */
class RefusedWrite extends Error {
  override name = "RefusedWrite";
}

const PREDECESSOR: Record<Kind, Kind | undefined> = {
  need: undefined,
  commitment: "need",
  engagement_claim: "commitment",
};

type Content = {
  description: string;
  codes: readonly string[];
  country: string;
  rop3: string;
  target: string | undefined;
};

const BODIES: Record<Kind, (content: Content) => object> = {
  need: ({ description, codes, country, rop3 }) => ({
    declaredByEmail: WRITER.email,
    needDescription: description,
    accelerators: codes,
    concernsCountryCode: [country],
    concernsPeopleGroupRop3: [rop3],
  }),
  commitment: ({ description, codes, country, rop3, target }) => ({
    declaredByEmail: WRITER.email,
    commitmentDescription: description,
    acceleratorScope: codes,
    concernsCountryCode: [country],
    concernsPeopleGroupRop3: [rop3],
    concernsNeedId: target,
    targetCompletionDate: "2099-12-31",
  }),
  engagement_claim: ({ description, codes, country, rop3, target }) => ({
    claimedByEmail: WRITER.email,
    description,
    engagementAccelerators: codes,
    countryCode: country,
    countryName: "A country",
    peopleGroupRop3: rop3,
    fulfillsCommitmentId: target,
  }),
};
