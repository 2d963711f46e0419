// The wire formats that the records share. db/rules/validation.sql decides what is well-formed; these schemas
// check most of that before a request gets there, and describe it in OpenAPI and to the tool endpoint. They
// refuse nothing that it would accept, except spellings of dates and UUIDs: it only sees the parsed values.
import { z } from "zod";
import { enums, longestText } from "../../db/catalog.ts";
import type { FieldType } from "../../records/record.ts";
import { errorDetail } from "../errors.ts";

/** PostgreSQL cannot store it in a text. */
export const NUL = "must not contain a NUL character";

/** In characters as PostgreSQL counts them; JavaScript counts an emoji as two. */
function hasAtMost(longest: number) {
  return (value: string) => value.length <= longest || Array.from(value).length <= longest;
}

/** Free text; the database trims it, and decides which characters are allowed. NUL cannot be stored. */
function textOfAtMost(longest: number) {
  return z
    .string({ error: "must be text" })
    .refine((value) => !value.includes("\0"), NUL)
    .refine(
      (value) => value.length <= longest || Array.from(value.trim()).length <= longest,
      `must have at most ${longest.toLocaleString("en")} characters`,
    )
    .meta({ maxLength: longest });
}

const required = (text: ReturnType<typeof textOfAtMost>, longest: number) =>
  text.refine((value) => value.trim() !== "", "must not be empty").meta({ minLength: 1, maxLength: longest });

const anyText = textOfAtMost(longestText.text);
const anyName = textOfAtMost(longestText.name);

export const requiredText = required(anyText, longestText.text);
export const optionalText = anyText.optional();
/** The name of a person, an organization, a place: one line. */
export const requiredName = required(anyName, longestText.name);
export const optionalName = anyName.optional();

export const uuid = z.guid({ error: "must be a UUID" }).meta({ format: "uuid" });

// HTML's pattern, with a dotted domain, as in app_private.is_email. JSON Schema's "email" accepts fewer.
export const email = z
  .string({ error: "must be an e-mail address" })
  .regex(
    /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/,
    "must be an e-mail address",
  )
  .max(254, "must be an e-mail address")
  .meta({ examples: ["ana@river.example"] });

/** Who acts. The database, which knows the caller, decides whether it may be left out. */
export const actingEmail = email
  .optional()
  .meta({ description: "Who is acting. Required with an API key; with a person's token it is that person." });

// Looser than app_private.is_http_uri, which alone checks the host, the port, percent-encoding, dot segments and the
// rarer characters that no IRI may have.
export const httpUri = z
  .string({ error: "must be an absolute http or https URI" })
  .regex(
    // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
    /^https?:\/\/[^\][/?#<>"{}|\\^`@\u0001-\u0020\u007f-\u009f]+(?:[/?#][^\][<>"{}|\\^`\u0001-\u0020\u007f-\u009f]*)?$/,
    "must be an absolute http or https URI",
  )
  .refine(hasAtMost(2048), "must be an absolute http or https URI")
  .meta({ format: "uri", maxLength: 2048, examples: ["https://data.example.org/org/river-mission"] });

export const rop3 = z
  .string({ error: "must be a ROP3 code of six digits" })
  .regex(/^[0-9]{6}$/, "must be a ROP3 code of six digits")
  .meta({ examples: ["104425"] });

const rog3 = z
  .string({ error: "must be a ROG3 country code of two or three upper-case letters" })
  .regex(/^[A-Z]{2,3}$/, "must be a ROG3 country code of two or three upper-case letters")
  .meta({ examples: ["KE"] });

export const countryCode = z
  .string({ error: "must be an ISO 3166-1 country code of two upper-case letters" })
  .regex(/^[A-Z]{2}$/, "must be an ISO 3166-1 country code of two upper-case letters")
  .meta({ examples: ["KE"] });

export const date = z.iso
  .date({ error: "must be a calendar date, YYYY-MM-DD" })
  .refine((value) => !value.startsWith("0000-"), "must be a calendar date, YYYY-MM-DD")
  .meta({ examples: ["2027-06-30"] });

const INSTANT = "must be a time with its offset, such as 2027-06-30T12:00:00Z";

/** A point in time that PostgreSQL accepts: from year 1, and at most 15 hours and 59 minutes from UTC. */
export const timestamp = z.iso
  .datetime({ offset: true, error: INSTANT })
  .refine((value) => !value.startsWith("0000-") && !/[+-](?:1[6-9]|2\d):\d\d$/.test(value), INSTANT);

const acceleratorCode = z
  .string({ error: "must be a code of the accelerator scheme" })
  .min(1, "must be a code of the accelerator scheme")
  .refine(hasAtMost(64), "must be a code of the accelerator scheme")
  .refine((value) => !value.includes("\0"), NUL)
  .meta({ maxLength: 64, examples: ["PRA-INT"] });

/** With as many items as the rules allow in any list. */
export const list = <T extends z.ZodType>(item: T) =>
  z.array(item, { error: "must be a list" }).max(100, "must have at most 100 items");

const acceleratorCodes = list(acceleratorCode).min(1, "must name at least one item");

/** White space alone counts as left out, in every list. */
const unlessBlank = (text: z.ZodType<string, string>) =>
  text.transform((value) => (value.trim() === "" ? undefined : value)).optional();

/** The search text that a person types. */
export const partsOf = (of: string) =>
  unlessBlank(
    z
      .string({ error: "must be text" })
      .max(200, "must have at most 200 characters")
      .refine((value) => !value.includes("\0"), NUL),
  ).meta({
    description: `Words, or parts of them, each of which is to be found in ${of}; case and accents are ignored. White space alone counts as left out.`,
  });

export const graphStatus = z.enum(enums.graph_status);
export const graphErrors = z.array(errorDetail);

const shownCodes = z.array(z.string());

/** The schema of a record's field, by its type: as a caller gives it, and as it is returned. */
export const FIELD_TYPES: Readonly<
  Record<Exclude<FieldType, "status">, { given: z.ZodType; shown: z.ZodType }>
> = {
  uuid: both(uuid),
  name: { given: anyName, shown: z.string() },
  text: { given: anyText, shown: z.string() },
  email: both(email),
  httpUri: both(httpUri),
  date: both(date),
  timestamp: both(timestamp),
  integer: both(z.int({ error: "must be an integer" })),
  number: both(z.number({ error: "must be a number" })),
  boolean: both(z.boolean({ error: "must be true or false" })),
  rop3: both(rop3),
  rog3: { given: rog3, shown: z.string() },
  countryCode: both(countryCode),
  acceleratorCodes: { given: acceleratorCodes, shown: shownCodes },
  rop3s: { given: list(rop3), shown: shownCodes },
  countryCodes: { given: list(countryCode), shown: shownCodes },
};

function both(type: z.ZodType) {
  return { given: type, shown: type };
}

/** A whole number within bounds. One beyond JavaScript's exact integers is reported as out of range. */
export function wholeNumber(least: number, most: number) {
  const outOfRange = { too_small: `must be at least ${least}`, too_big: `must be at most ${most}` };
  return z
    .int({
      abort: true,
      error: ({ code }) => outOfRange[code as keyof typeof outOfRange] ?? "must be an integer",
    })
    .min(least, outOfRange.too_small)
    .max(most, outOfRange.too_big);
}

/** limit and offset of every list; SQL functions take both as 32-bit integers. */
export const paging = {
  limit: wholeNumber(1, 200).default(50).describe("How many to return at most."),
  offset: wholeNumber(0, 2_147_483_647).default(0).describe("How many to skip."),
};

/** A filter that compares a text exactly. */
export const filterText = anyText.optional();
/** Words to search for; longer texts would not narrow the result down. */
export const searchText = unlessBlank(anyName);

/** One of a closed list. */
export function oneOf<const T extends string>(values: readonly T[]) {
  return z.enum(values, { error: `must be one of ${values.join(", ")}` });
}
