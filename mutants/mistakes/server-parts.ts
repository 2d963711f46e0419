// Small parts of the server, each by itself.
import type { Mistake } from "../mistake.ts";

export const SERVER_PARTS: readonly Mistake[] = [
  {
    tests: ["server-parts"],
    rule: "only the live channel may go on in another protocol",
    file: "server/listener.ts",
    before: "/^\\/graphql(\\?|$)/",
    after: "/^\\/graphql/",
    only: "listener",
  },
  {
    tests: ["server-parts"],
    rule: "a list waits five seconds for the graph",
    file: "server/graph-reads.ts",
    before: "{ timeoutMs: TIMEOUT_MS, signal: gone }",
    after: "{ signal: gone }",
    only: "read from the graph",
  },
  {
    tests: ["server-parts"],
    rule: "an address that is none is nobody's",
    file: "server/identity/identify.ts",
    before: 'return isIP(ip) ? ip.replace(/%.*/, "") : "::";',
    after: 'return ip.replace(/%.*/, "");',
    only: "a caller is",
  },
  {
    tests: ["server-parts"],
    rule: "an IPv4 address written as IPv6 is itself",
    file: "server/identity/network.ts",
    before: ' || ip.startsWith("::ffff:")',
    after: "",
    only: "a caller is",
  },
  {
    tests: ["server-parts"],
    rule: "a page's failure is not hidden as nobody",
    file: "server/identity/unknown-keys.ts",
    before: "      if (!isUnknown(error)) throw error;\n    }\n    next();",
    after: "    }\n    next();",
    only: "a caller is",
  },
  {
    tests: ["server-parts"],
    rule: "a zone is no part of an address",
    file: "server/identity/identify.ts",
    before: 'ip.replace(/%.*/, "")',
    after: "ip",
    only: "a caller is",
  },
];
