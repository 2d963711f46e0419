// What a tired colleague gets wrong in the worker: a step left out, a condition dropped, the first number for the last one.
import type { Mistake } from "../mistake.ts";

const UPKEEP = { tests: ["graph-upkeep"] };
const WHOLE = { file: "worker/replace.ts", tests: ["worker-parts"], only: "what XML cannot hold" };
const ASKED = { tests: ["graph-by-pages"], only: "nobody asked" };
const LIST = { file: "worker/verify.ts", tests: ["graph-by-pages"], only: "a list that lacks" };

export const WORKER_SLIPS: readonly Mistake[] = [
  {
    ...WHOLE,
    rule: "a graph of which a part is written after it counts with the last of it",
    before: "turn = await session.update(",
    after: "await session.update(",
  },
  {
    ...WHOLE,
    rule: "what is written after a graph has no effect on another one",
    before: "} WHERE { ${condition} }`",
    after: "} WHERE { }`",
  },
  {
    ...LIST,
    rule: "of a list nobody keeps earlier versions: what differs is altered",
    before: 'kind: difference === "missing" ? "missing" : "altered"',
    after: "kind: difference",
  },
  {
    ...LIST,
    rule: "what a list should not have is found",
    before:
      '  for (const iri of actual.keys()) if (!expected.has(iri)) found({ kind: "foreign", graph, iri });\n',
    after: "",
  },
  {
    ...LIST,
    rule: "a list that differs is written again only where that is wanted",
    before: "if (!repair || differing === 0) return;",
    after: "if (differing === 0) return;",
  },
  {
    ...UPKEEP,
    rule: "a verification goes on after the page that it is at",
    file: "worker/verifier.ts",
    before: "      next?.after,\n",
    after: "      undefined,\n",
    only: "that is asked for goes on",
  },
  {
    ...UPKEEP,
    rule: "the first verification takes no regard of the days that a round may take",
    file: "worker/verifier.ts",
    before: "v.urgent or v.verified_at is null as urgent",
    after: "v.urgent",
    only: "that is the first goes on",
  },
  {
    ...UPKEEP,
    rule: "a list is not blamed for a store that takes nothing",
    file: "worker/references.ts",
    before: "      await requireUpdates(session, undefined, signal);\n",
    after: "      void requireUpdates;\n",
    only: "takes nothing",
  },
  {
    ...UPKEEP,
    rule: "all of a rebuild sees the tables as they were at one moment",
    file: "worker/snapshot.ts",
    before: "isolation level repeatable read, read only",
    after: "isolation level read committed, read only",
    only: "a snapshot",
  },
  {
    ...UPKEEP,
    rule: "a snapshot lasts while a store takes minutes to load what it was sent",
    file: "worker/snapshot.ts",
    before: '    await tables.query("set local idle_in_transaction_session_timeout = 0");\n',
    after: "",
    only: "a snapshot",
  },
  {
    ...UPKEEP,
    rule: "a rebuild writes the lists as well",
    file: "worker/rebuild.ts",
    before: "    writeDirtyReferences(projector, client, store, session, logger, lost),\n",
    after:
      "    Promise.resolve(void [writeDirtyReferences, projector, client, store, session, logger, lost]),\n",
    only: "writes the lists",
  },
  {
    ...UPKEEP,
    rule: "a store that may hold what no table contains is verified",
    file: "worker/watch.ts",
    before: '  if (loss.foreign) await client.query("select app_private.request_verification()");\n',
    after: "",
    only: "says nothing of itself",
  },
  {
    rule: "what is to run on a schedule is known to whatever runs jobs",
    file: "worker/jobs.ts",
    before: "    crontab: crontab(),\n",
    after: '    crontab: "",\n',
    tests: ["worker-main"],
    only: "on a schedule",
  },
  {
    rule: "a drain whose time is over goes on right after the store was asked what it holds",
    file: "worker/drainer.ts",
    before: `      woken = true;
      return;`,
    after: "      return;",
    tests: ["drainer"],
    only: "right after that",
  },
  {
    rule: "a mail is addressed to its recipient's name",
    file: "worker/mailer.ts",
    before: 'to: toName ? { name: toName, address: to } : { name: "", address: to },',
    after: 'to: { name: "", address: to },',
    tests: ["mail"],
    only: "addressed to a name",
  },
  {
    ...UPKEEP,
    rule: "a record may keep an accelerator that is deprecated",
    file: "worker/records.ts",
    before: "from app_public.accelerators) as concepts",
    after: "from app_public.accelerators where deprecated_at is null) as concepts",
    only: "that is deprecated",
  },
  {
    ...UPKEEP,
    rule: "an accelerator is said to be deprecated when it is",
    file: "worker/references.ts",
    before: "deprecated_at is not null as deprecated",
    after: "deprecated_at is null as deprecated",
    only: "that is deprecated",
  },
  {
    ...ASKED,
    rule: "what is among the marks of the graph is removed only where that is wanted",
    file: "worker/verify.ts",
    before: "if (!step.repair || strangers.length === 0) return;",
    after: "if (strangers.length === 0) return;",
  },
  {
    ...ASKED,
    rule: "what is beside the service's graphs is not removed by a repair",
    file: "worker/verify.ts",
    before: "if (!dropUnlisted) continue;",
    after: "if (!dropUnlisted && !step.repair) continue;",
  },
  {
    ...ASKED,
    rule: "what is in no graph is not removed by a repair",
    file: "worker/verify.ts",
    before: "  if (!dropUnlisted) return;\n",
    after: "  if (!dropUnlisted && !step.repair) return;\n",
  },
  {
    rule: "the connections of the worker are told of",
    file: "worker/metrics.ts",
    before: '  metrics.watchPool("worker", pool);\n',
    after: "",
    tests: ["metrics-parts"],
    only: "as its own",
  },
  {
    ...UPKEEP,
    rule: "an operator is told what a verification has found",
    file: "worker/verifier.ts",
    before: "if (found > 0) {",
    after: "if (result.repaired > 0) {",
    only: "is told what differs",
  },
];
