// What is no longer believed without asking: a replica's settings, that it follows the primary, a provider's keys.
import type { Mistake } from "../mistake.ts";

export const NOT_BELIEVED: readonly Mistake[] = [
  {
    rule: "a replica with other settings than the rules need is passed over",
    file: "server/postgres/replica.ts",
    before: "if (other !== undefined) throw new ReplicaUnfit(`it has ${other}`);",
    after: "void other;",
    tests: ["replica-faults"],
    only: "in with another setting",
  },
  {
    rule: "policies decide whatever a login's own settings are",
    file: "server/postgres/connections.ts",
    before: ', row_security: "on" };',
    after: " };",
    tests: ["replica-faults"],
    only: "policies are switched off",
  },
  {
    rule: "the style of dates is what counts, and not their order",
    file: "db/reach.ts",
    before: '?.split(",", 1)[0] !== needed',
    after: " !== needed",
    tests: ["reach"],
    only: "new enough",
  },
  {
    rule: "a replica that had more than the primary has is passed over",
    file: "db/rules/replicas.sql",
    before: "elsif (wanted ->> 'replayed')::bigint > (wanted ->> 'at')::bigint then",
    after: "elsif (wanted ->> 'replayed')::bigint is null and false then",
    tests: ["replica-faults"],
    only: "which position it cannot have",
  },
  {
    rule: "a replica that had just what the primary has is not ahead",
    file: "db/rules/replicas.sql",
    before: "elsif (wanted ->> 'replayed')::bigint > (wanted",
    after: "elsif (wanted ->> 'replayed')::bigint >= (wanted",
    tests: ["replica-faults"],
    only: "which position it cannot have",
  },
  {
    rule: "a replica that is looked at is asked before the primary",
    file: "server/postgres/replica.ts",
    before: `    this.#known = await this.#replayed();
    return this.#position().catch(`,
    after: `    const position = this.#position();
    this.#known = await this.#replayed();
    return position.catch(`,
    tests: ["replica-parts"],
    only: "not begun with",
  },
  {
    rule: "what a replica is found to have replayed counts from then on",
    file: "server/postgres/replica.ts",
    before: `    this.#known = await this.#replayed();
    return this.#position().catch(`,
    after: `    const replayed = await this.#replayed();
    return this.#positions.current().then((position) => ({ ...position, replayed })).catch(`,
    tests: ["replica-parts"],
    only: "at each read",
  },
  {
    rule: "what a replica has replayed since the primary was asked is no reason to pass it over",
    file: "server/postgres/replica.ts",
    before: "    return { ...(await this.#positions.current()), replayed };",
    after: "    return { ...(await this.#positions.current()), replayed: this.#known || replayed };",
    tests: ["replica-parts"],
    only: "at each read",
  },
  {
    rule: "a provider that lacks the key of its answer is away",
    file: "server/pages/sign-in/provider.ts",
    before: "  if (error instanceof errors.JWKSNoMatchingKey) return true;\n",
    after: "",
    tests: ["sign-in-provider"],
    only: "has no such key",
  },
  {
    rule: "a provider that cannot be asked for the key of its answer is away",
    file: "server/pages/sign-in/provider.ts",
    before: 'if (cause instanceof ApiError && cause.code === "invalid_token")',
    after: "if (cause instanceof ApiError)",
    tests: ["sign-in-provider"],
    only: "asked a moment ago|without keys",
  },
  {
    rule: "nobody is told to be late for what is wrong with a signature",
    file: "server/pages/sign-in/provider.ts",
    before: "cause instanceof oidc.AuthorizationResponseError || cause instanceof errors.JOSEError",
    after: "cause instanceof oidc.AuthorizationResponseError",
    tests: ["sign-in-provider"],
    only: "has another one",
  },
  {
    rule: "who somebody is, is signed with a key that the provider has",
    file: "server/identity/tokens.ts",
    before: "compactVerify(token, find, { algorithms: ALGORITHMS })",
    after: "Promise.resolve(find)",
    tests: ["sign-in-provider"],
    only: "with its key, and with no other",
  },
];
