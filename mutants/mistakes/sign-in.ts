// Mistakes on the pages where persons sign in and out and confirm their addresses.
import type { Mistake } from "../mistake.ts";

const PROVIDER = { file: "server/pages/sign-in/provider.ts", tests: ["sign-in-provider"] } as const;
const CONFIRM = { file: "server/pages/sign-in/confirm.ts", tests: ["confirm-address"] } as const;
const DOOR = { file: "server/pages/sign-in/door.ts", tests: ["sign-in"] } as const;

export const SIGN_IN: readonly Mistake[] = [
  {
    ...PROVIDER,
    rule: "the provider is asked for the address too",
    before: 'scope: "openid email"',
    after: 'scope: "openid"',
  },
  {
    ...PROVIDER,
    rule: "an answer for another sign-in is refused",
    before: 'expectedNonce: derived("nonce", attempt), ',
    after: "",
  },
  {
    ...PROVIDER,
    rule: "a provider that was away is asked again",
    before: "      this.#found = undefined;\n",
    after: "",
  },
  {
    ...PROVIDER,
    rule: "a provider whose connection fails is away",
    before: "error.cause instanceof Unreachable || ",
    after: "",
  },
  {
    ...PROVIDER,
    rule: "a proxy that answers in the provider's place is no refusal of it",
    before: '  "OAUTH_RESPONSE_IS_NOT_CONFORM",\n',
    after: "",
  },
  {
    ...PROVIDER,
    rule: "a page that is called a success is no answer of the provider",
    before: '  "OAUTH_RESPONSE_IS_NOT_JSON",\n',
    after: "",
  },
  {
    ...PROVIDER,
    rule: "a provider that sends the person back since it is overloaded has not refused them",
    before: "return ITS_OWN_FAULT.has(error.error);",
    after: "return false;",
  },
  {
    ...PROVIDER,
    rule: "a person who was refused is not told that the provider is away",
    before: "return ITS_OWN_FAULT.has(error.error);",
    after: "return true;",
  },
  {
    ...PROVIDER,
    rule: "a provider that says that it cannot take a code just now has not refused the person",
    before: " || error instanceof oidc.ResponseBodyError",
    after: "",
  },
  {
    ...PROVIDER,
    rule: "half an answer is none",
    before: '  "OAUTH_PARSE_ERROR",\n',
    after: "",
  },
  {
    ...PROVIDER,
    rule: "the signature of who somebody is, is checked",
    before: "    oidc.enableNonRepudiationChecks(found);\n",
    after: "",
  },
  {
    ...PROVIDER,
    rule: "a client with a secret shows it",
    before: "clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret)",
    after: "oidc.None()",
  },
  {
    ...PROVIDER,
    rule: "nonce and verifier are not the same",
    before: "`${purpose} ${state}`",
    after: "state",
  },
  {
    ...PROVIDER,
    rule: "an attempt is bound to its browser",
    before: 'createHmac("sha256", browser)',
    after: 'createHmac("sha256", state)',
  },
  {
    ...PROVIDER,
    rule: "what a provider says of itself is kept only where it says where persons sign in",
    before: "if (!URL.canParse(String(page)) || !URL.canParse(String(door)))",
    after: "if (!URL.canParse(String(door)))",
  },
  {
    ...CONFIRM,
    rule: "confirming with a session takes the form's own proof",
    before: ": requireForm(request, response, next);",
    after: ": requireOwnForm(request, response, next);",
  },
  {
    ...CONFIRM,
    rule: "what was shown is confirmed, all of it",
    before: 'claims.split(" ")',
    after: 'claims.split(" ").slice(0, 1)',
  },
  {
    ...CONFIRM,
    rule: "a link that is used up says so",
    before: "      if (token !== undefined) throw over();\n",
    after: "",
  },
  {
    ...CONFIRM,
    rule: "a link counts before who is signed in",
    before: 'return typeof token === "string" ? token : readCookie(request, SESSION);',
    after: 'return readCookie(request, SESSION) ?? (typeof token === "string" ? token : undefined);',
  },
  {
    ...CONFIRM,
    rule: "who has nothing to confirm is told so after the button too",
    before: 'outcomes.length > 0 ? "Your address is confirmed."',
    after: 'outcomes ? "Your address is confirmed."',
  },
  {
    ...CONFIRM,
    rule: "who is not signed in signs in, and comes back here",
    before: "`/sign-in?${new URLSearchParams({ returnTo: CONFIRM }).toString()}`",
    after: '"/sign-in"',
  },
  {
    ...CONFIRM,
    rule: "not now leads back to where somebody came from",
    before: "const back = ownPath(returnTo);",
    after: 'const back = "/";',
  },
  {
    ...CONFIRM,
    rule: "not now leads nowhere else than to this service",
    before: "const back = ownPath(returnTo);",
    after: "const back = String(returnTo);",
  },
  {
    ...CONFIRM,
    rule: "a claim that still waits is not called approved",
    before: 'pending: "confirmed, and waits for its review"',
    after: 'pending: "approved"',
  },
  {
    ...DOOR,
    rule: "who has signed in leaves nothing of the sign-in in the browser",
    before: "    clearCookie(response, BROWSER);\n",
    after: "",
  },
  {
    ...DOOR,
    rule: "nobody keeps the answer with the session",
    before:
      '    setCookie(response, SESSION, signedIn.session);\n    response.set("cache-control", "no-store");\n',
    after: "    setCookie(response, SESSION, signedIn.session);\n",
  },
  {
    ...DOOR,
    rule: "spaces around an address do not count",
    before: 'typeof email === "string" ? email.trim() : ""',
    after: 'typeof email === "string" ? email : ""',
  },
  {
    ...DOOR,
    rule: "a link leads nowhere else than to this service",
    before: "...{ secret, browser, returnTo: ownPath(returnTo) },",
    after: "...{ secret, browser, returnTo: String(returnTo) },",
  },
  {
    ...DOOR,
    rule: "pages elsewhere are not told who is signed in",
    before: "session !== undefined && isFromOwnPage(request)",
    after: "session !== undefined",
    tests: ["sign-in"],
  },
  {
    ...DOOR,
    rule: "pages elsewhere do not sign people in at the provider",
    before: "if (!provider || !isFromOwnPage(request))",
    after: "if (!provider)",
    tests: ["sign-in-provider"],
  },
  {
    ...DOOR,
    rule: "signing out ends the other sessions only when that was asked for",
    before: 'everywhere === "yes"',
    after: "true",
    tests: ["sessions"],
  },
  {
    ...DOOR,
    rule: "signing out ends the session, not only the cookie",
    before:
      '    if (session !== undefined) await sessions.end(session, networkOf(request), everywhere === "yes");\n',
    after: "",
    tests: ["sessions"],
  },
  {
    ...DOOR,
    rule: "signing out takes the cookie",
    before: "    clearCookie(response, SESSION);\n",
    after: "",
    tests: ["sessions"],
  },
  {
    ...DOOR,
    rule: "where the service is on https nobody signs in over http",
    before: 'if (request.secure || !ownUrl().startsWith("https:")) return next();',
    after: "return next();",
  },
  {
    ...DOOR,
    rule: "localhost and 127.0.0.1 are not one place for cookies",
    before: "return response.redirect(303, elsewhere);",
    after: "void elsewhere;",
  },
  {
    ...DOOR,
    rule: "another page of the browser leaves a link that was asked for as good as it was",
    before: "const browser = readCookie(request, BROWSER) ?? newSecret();",
    after: "const browser = newSecret();",
  },
  {
    ...DOOR,
    rule: "the browser is known for longer than the link is good",
    before: "const BROWSER_SECONDS = 3_600;",
    after: "const BROWSER_SECONDS = 360;",
  },
  {
    ...DOOR,
    rule: "where persons sign in at a provider no links are mailed",
    before:
      '    if (provider) throw new ApiError("sign_in_refused", { message: "Sign in at the provider." });\n',
    after: "",
    tests: ["sign-in-provider"],
  },
  {
    ...DOOR,
    rule: "who has something to confirm is led there first",
    before: "waiting?.claims.length ?",
    after: "waiting?.claims.length === 0 ?",
    tests: ["confirm-address", "sign-in"],
  },
  {
    ...DOOR,
    rule: "from where somebody has confirmed the way goes on",
    before: "`${CONFIRM}?${new URLSearchParams({ returnTo }).toString()}`",
    after: "CONFIRM",
    tests: ["confirm-address", "sign-in"],
  },
  {
    ...DOOR,
    rule: "a network has a limit on the pages of sign-in",
    before: "      parts.holdBack.slowly(limitNetwork(REQUESTS_PER_MINUTE)),\n",
    after: "",
    tests: ["hold-back"],
  },
  {
    ...DOOR,
    rule: "who has come back from a provider goes on to where they wanted",
    before: 'await sessions.askProvider(state, browser, ownPath(request.query["returnTo"]));',
    after: 'await sessions.askProvider(state, browser, "/");',
    tests: ["sign-in-provider"],
  },
];
