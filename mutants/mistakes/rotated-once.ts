// What is left of a thing for who comes second: a key that was rotated, a mail that another worker would send.
import type { Mistake } from "../mistake.ts";

const KEYS = { file: "admin/keys.ts", tests: ["cli"], only: "are rotated" };

export const ROTATED_ONCE: readonly Mistake[] = [
  {
    ...KEYS,
    rule: "a key is rotated once",
    before: "\n             and k.replaced_by is null",
    after: "",
  },
  {
    ...KEYS,
    rule: "who rotates a key again is told which key has replaced it",
    before: "(await rotatedBefore(client, keyId)) ?? noKey",
    after: "noKey",
  },
  {
    ...KEYS,
    rule: "who rotates a key again is told whether the key that replaced it works",
    before: 'next.state === "live"',
    after: 'next.state !== "revoked"',
  },
  {
    ...KEYS,
    rule: "a key that was rotated and revoked is called one that is not live",
    before: "where k.key_id::text = lower($1) and app_private.key_state(k) = 'live'`,",
    after: "where k.key_id::text = lower($1)`,",
  },
  {
    ...KEYS,
    rule: "a key that was rotated before is found whatever the case of its id",
    before: "where k.key_id::text = lower($1) and app_private.key_state(k) = 'live'`,",
    after: "where k.key_id::text = $1 and app_private.key_state(k) = 'live'`,",
  },
  {
    ...KEYS,
    rule: "a rotated key shows which key has replaced it",
    before: '${key.replacedBy ?? "none"}',
    after: "none",
    tests: ["operator-tables"],
    only: "a key",
  },
];
