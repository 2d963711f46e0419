// What is taken from outside: tokens and the keys of their providers, media types, frames, addresses.
import type { Mistake } from "../mistake.ts";

const KEYS = {
  file: "server/identity/provider.ts",
  tests: ["provider-keys"],
  only: "what is known is kept|is usable",
};
const TOKENS = { file: "server/identity/tokens.ts", tests: ["persons"] };

export const TAKEN_AT_DOORS: readonly Mistake[] = [
  {
    ...KEYS,
    rule: "a provider that answers without a key takes away none that is known",
    before: "if (!given.keys.some(canVerify)) {",
    after: "if (!Array.isArray(given.keys)) {",
  },
  {
    ...KEYS,
    rule: "one usable key among others is enough",
    before: "given.keys.some(canVerify)",
    after: "given.keys.every(canVerify)",
  },
  {
    ...KEYS,
    rule: "a key for encryption verifies nothing",
    before: '  if (use !== undefined && use !== "sig") return false;\n',
    after: "",
  },
  {
    ...KEYS,
    rule: "a key need not say what it is used for",
    before: 'if (use !== undefined && use !== "sig") return',
    after: 'if (use !== "sig") return',
  },
  {
    ...KEYS,
    rule: "a key for other operations verifies nothing",
    before: ' && operations.includes("verify"))) return',
    after: ")) return",
  },
  {
    ...KEYS,
    rule: "the operations of a key are a list",
    before: '!(Array.isArray(operations) && operations.includes("verify"))',
    after: '!(operations as string[]).includes("verify")',
  },
  {
    ...KEYS,
    rule: "a key for an algorithm that is not accepted verifies nothing",
    before: "if (alg !== undefined && !ALGORITHMS.some((accepted) => accepted === alg)) return false;",
    after: "",
  },
  {
    ...KEYS,
    rule: "a key need not name its algorithm",
    before: "if (alg !== undefined && !ALGORITHMS",
    after: "if (!ALGORITHMS",
  },
  {
    ...KEYS,
    rule: "a private key that a provider publishes is anybody's",
    before: '  if ("d" in key) return false;\n',
    after: "",
  },
  {
    ...KEYS,
    rule: "a key of a kind that signs nothing verifies nothing",
    before: 'KEY_TYPES.includes(createPublicKey({ key, format: "jwk" }).asymmetricKeyType)',
    after: 'createPublicKey({ key, format: "jwk" }).type === "public"',
  },
  {
    ...TOKENS,
    rule: "a subject that cannot be stored is nobody's",
    before: "if (!isText || !subject.isWellFormed()) {",
    after: "if (!isText) {",
    only: "cannot be stored",
  },
  {
    ...TOKENS,
    rule: "a client without a name is none to which a token for several audiences can have been issued (azp)",
    before: "!isName(azp)",
    after: 'typeof azp !== "string"',
    only: "for several audiences",
  },
  {
    ...TOKENS,
    rule: "a client without a name is none to which a token for several audiences can have been issued (client_id)",
    before: "!isName(clientId)",
    after: 'typeof clientId !== "string"',
    only: "for several audiences",
  },
  {
    ...TOKENS,
    rule: "a client whose name is blank has none",
    before: 'claim.trim() !== ""',
    after: 'claim !== ""',
    only: "for several audiences",
  },
  {
    rule: "the service is at the root of its host, not below a path",
    file: "config.ts",
    before: "(value) => /^[a-z]+:\\/\\/[^/]*\\/?$/.test(value),",
    after: '(value) => value !== "",',
    tests: ["config"],
  },
  {
    rule: "a slash at the end of the service's own address is no path",
    file: "config.ts",
    before: "[^/]*\\/?$/",
    after: "[^/]*$/",
    tests: ["config"],
  },
];
