// The forms that values of settings can have. The refusal of a value is one line that says what is expected,
// never the value itself, which may be a secret.
import { isIP } from "node:net";
import { z } from "zod";

/** The longest delay that setTimeout accepts; it treats a longer one as no delay at all. */
const LONGEST_MS = 2 ** 31 - 1;

const LONGEST_VALUE = 8_192;

const plain = (number: number) => number.toLocaleString("en");

/** A setting that may be unset; an empty value means unset too, as in compose files. */
export function optional<T extends z.ZodType>(form: T) {
  return unlessEmpty(form.optional());
}

/** A setting with a value for when it is unset. */
export function byDefault<T extends z.ZodType>(form: T, value: z.util.NoUndefined<z.output<T>>) {
  return unlessEmpty(form.default(value));
}

function unlessEmpty<T extends z.ZodType>(form: T) {
  return z.preprocess((text, context) => {
    if (typeof text !== "string" || text === "") return undefined;
    const problem =
      text.trim() === ""
        ? "must not be blank; leave it out, or empty, to unset it"
        : text !== text.trim()
          ? "must not begin or end with white space"
          : text.length > LONGEST_VALUE
            ? `must have at most ${plain(LONGEST_VALUE)} characters`
            : // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
              /[\u0000-\u001f\u007f]/.test(text)
              ? "must be one line, without control characters"
              : undefined;
    if (problem === undefined) return text;
    context.addIssue(problem);
    return z.NEVER;
  }, form);
}

/** A setting that is a secret or may contain one: it is masked where settings are shown, and can come from a file. */
export function secret<T extends z.ZodType>(form: T) {
  return optional(form).meta({ secret: true });
}

/** A whole number, in digits. */
export function whole(least: number, most: number, unit = "") {
  const error = `must be a whole number${unit} from ${plain(least)} to ${plain(most)}, in digits`;
  return z
    .string()
    .regex(/^\d{1,15}$/, error)
    .transform(Number)
    .pipe(z.number().min(least, error).max(most, error));
}

/** A time in milliseconds. */
export function milliseconds(least = 1) {
  return whole(least, LONGEST_MS, " of milliseconds");
}

export const port = whole(0, 65_535);

/** A number that may have decimals. */
export function decimal(least: number, most: number) {
  const error = `must be a number from ${plain(least)} to ${plain(most)}, in digits, such as 0.5`;
  return z
    .string()
    .regex(/^\d{1,15}(\.\d{1,15})?$/, error)
    .transform(Number)
    .pipe(z.number().min(least, error).max(most, error));
}

/** One of a few words. */
export function oneOf<const T extends readonly [string, ...string[]]>(...words: T) {
  return z.enum(words, { error: `must be one of ${words.join(", ")}, in lower case` });
}

/** The optional parts that a URL may have. */
type UrlParts = { credentials?: boolean; query?: boolean };

// Characters that a URL cannot contain unencoded, and that would end an IRI in Turtle or SPARQL.
const UNFIT = /[\s<>"{}|\\^`]/;

/** A URL with one of these schemes. */
export function url(schemes: readonly string[], example: string, { credentials, query }: UrlParts = {}) {
  const prefix = schemes.map((scheme) => `${scheme}://`).join(" or ");
  return z.string().superRefine((value, context) => {
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    const problem =
      !parsed || UNFIT.test(value) || !schemes.some((scheme) => value.startsWith(`${scheme}://`))
        ? `must be a URL that begins with ${prefix}, such as ${example}`
        : !credentials && (parsed.username || parsed.password)
          ? `must be a URL without user and password, such as ${example}`
          : !query && /[?]/.test(value)
            ? `must be a URL without a query, such as ${example}`
            : hasEncodedControls(value)
              ? "must be a URL without encoded control characters"
              : undefined;
    if (problem !== undefined) context.addIssue(problem);
  });
}

/** Encoded line ends in a user's name or a path would end a line of the protocol that carries them. */
function hasEncodedControls(value: string): boolean {
  return /%(?:[01][0-9a-f]|7f)/i.test(value);
}

/** An http or https URL without query and fragment. */
export function httpUrl(example: string) {
  return url(["http", "https"], example).refine(
    (value) => !value.includes("#"),
    `must be a URL without a fragment, such as ${example}`,
  );
}

/** Origins of pages, separated by commas, or `*` for all. */
export const origins = z
  .string()
  .transform((value) => value.split(",").map((origin) => origin.trim()))
  .refine(
    (list) => list.join() === "*" || list.every(isOrigin),
    "must be * or a list of origins, such as https://a.example, https://b.example:8443 (without a slash at the end)",
  );

function isOrigin(value: string): boolean {
  return /^https?:[^*]*$/.test(value) && URL.canParse(value) && new URL(value).origin === value;
}

const mailDomain = z
  .string()
  .regex(
    /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i,
    "must be URLs separated by commas, each alone or with domains of e-mail addresses, such as https://login.example.org example.org",
  )
  .transform((domain) => domain.toLowerCase());

/**
 * OpenID providers, by the issuer URLs in their tokens, separated by commas; after each, separated by spaces,
 * the domains for whose e-mail addresses it is trusted; without any, it is trusted for all.
 */
export const issuers = z
  .string()
  .transform((value) =>
    value.split(",").map((entry) => {
      const [issuer, ...domains] = entry.trim().split(/\s+/);
      return { issuer, domains };
    }),
  )
  .pipe(z.array(z.object({ issuer: httpUrl("https://accounts.example.org"), domains: z.array(mailDomain) })));

/** The sender of mails. */
export const sender = z
  .string()
  .regex(
    /^(?:[^<>@]*<[^<>@\s,]+@[^<>@\s,]+>|[^<>@\s,]+@[^<>@\s,]+)$/,
    "must be an address, such as no-reply@example.org or Example <no-reply@example.org>",
  );

/** A name or an address of this machine. */
export const host = z
  .string()
  .regex(
    /^[A-Za-z0-9._:%-]+$/,
    "must be a host name or an address, such as 127.0.0.1 or 0.0.0.0, without a port",
  )
  .refine(
    (value) => !/^[^:]+:\d+$/.test(value) && !value.startsWith("["),
    "must be a host name or an address, such as 127.0.0.1 or 0.0.0.0, without a port",
  );

const PROXIES =
  "must be the number of proxies before the service, or their addresses or networks, comma-separated";

/** Addresses that Express knows by name. */
const RANGES = ["loopback", "linklocal", "uniquelocal"];

/** The proxies that are trusted: their number, or their addresses. */
export const proxies = z.string().transform((value, context): number | string[] => {
  if (/^\d$/.test(value)) return Number(value);
  const networks = value.split(",").map((network) => network.trim());
  if (!networks.every((network) => RANGES.includes(network) || isNetwork(network))) context.addIssue(PROXIES);
  return networks;
});

/** Whether a text is an address, or a network in CIDR notation. */
export function isNetwork(text: string): boolean {
  const [, address = "", bits = "0"] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return isIP(address) > 0 && Number(bits) <= (isIP(address) === 4 ? 32 : 128);
}
