// The demo's organizations, people and records. All of them are invented; the domains end in .example, which
// nobody can register.

/** An organization; people are identified by the part of their e-mail address before the @. */
export type DemoOrganization = { slug: string; name: string; type: string; members: boolean };

export const organizations: readonly DemoOrganization[] = [
  { slug: "northern-light", name: "Northern Light Fellowship", type: "sending agency", members: true },
  { slug: "harbor-scripture", name: "Harbor Scripture Partners", type: "scripture agency", members: true },
  { slug: "open-well", name: "Open Well Relief", type: "relief and development", members: true },
  { slug: "sahel-prayer", name: "Sahel Prayer Network", type: "prayer network", members: true },
  // Nobody belongs to this one yet: the first claim from its domain is approved automatically.
  { slug: "cedar-gate", name: "Cedar Gate Mission", type: "church network", members: false },
  // Nor to this one, for which an administrator of the platform can appoint somebody.
  { slug: "stone-bridge", name: "Stone Bridge Assembly", type: "church network", members: false },
];

/** One person in each role, for every organization that has members. */
export const people = [
  { name: "admin", role: "org_admin", firstName: "Amina", lastName: "Okafor" },
  { name: "contributor", role: "org_contributor", firstName: "Jonas", lastName: "Lindqvist" },
  { name: "member", role: "org_member", firstName: "Mei", lastName: "Tan" },
] as const;

/** People who run the platform itself, at platform.example. */
export const platformPeople = [
  { email: "admin@platform.example", role: "admin", firstName: "Ruth", lastName: "Alvarez" },
  { email: "support@platform.example", role: "support", firstName: "Samuel", lastName: "Park" },
] as const;

/** Who may review every claim, on the page for it. */
export const DEMO_REVIEWER = platformPeople[0].email;

const KINDS = ["need", "commitment", "engagement claim", "organization claim"] as const;

/** The id of a demo record, the same in every installation so that printed examples work unchanged. */
export function demoId(kind: (typeof KINDS)[number], place: number): string {
  return `00000000-0000-4000-8${String(KINDS.indexOf(kind) + 1).padStart(3, "0")}-${String(place + 1).padStart(12, "0")}`;
}

/** Somebody who is waiting to be admitted to an organization, the last of them to one that is there already under another name. */
export const applicants = [
  {
    org: "northern-light",
    email: "noor@elsewhere.example",
    firstName: "Noor",
    lastName: "Haddad",
    roles: ["translator"],
  },
  { org: "open-well", email: "tomas@elsewhere.example", firstName: "Tomas", lastName: "Vidal", roles: [] },
  {
    newOrg: { name: "Harbour Scripture Partners", website: "https://harbor-scripture.example" },
    email: "lena@elsewhere.example",
    firstName: "Lena",
    lastName: "Brandt",
    roles: ["translation consultant"],
  },
] as const;

type DemoRecord = {
  org: string;
  description: string;
  accelerators: string[];
  /** When it was declared, in days before the demo was loaded. */
  daysAgo: number;
};

export type DemoNeed = DemoRecord & { rop3: string[]; countries: string[] };
export type DemoCommitment = DemoRecord & {
  /** Index of the need. */
  need: number | null;
  rop3: string[];
  countries: string[];
  /** In days after the demo was loaded. */
  dueInDays: number | null;
  status?: "funded" | "in_progress" | "partially_fulfilled" | "fulfilled";
};
export type DemoEngagementClaim = DemoRecord & {
  /** Index of the commitment. */
  commitment: number | null;
  rop3: string | null;
  rog3: string | null;
  country: string | null;
  countryName: string | null;
  status?: "paused" | "completed";
};

export const needs: readonly DemoNeed[] = [
  {
    org: "northern-light",
    description: "Audio Scripture in the heart language of herding families who do not read.",
    accelerators: ["SRA-AUD", "PRA-INT"],
    rop3: ["104567"],
    countries: ["NE"],
    daysAgo: 120,
  },
  {
    org: "open-well",
    description: "Clean water and emergency relief for displaced families along the river.",
    accelerators: ["COM-DIS", "COM-WAT"],
    rop3: ["108213"],
    countries: ["TD", "NE"],
    daysAgo: 75,
  },
  {
    org: "sahel-prayer",
    description: "Churches that pray every week for a people group without a known believer.",
    accelerators: ["PRA-INT", "PRA-NET"],
    rop3: ["111840"],
    countries: ["ML"],
    daysAgo: 30,
  },
  {
    org: "harbor-scripture",
    description: "Pioneer teams willing to live among island fishing communities.",
    accelerators: ["MUL-PIO"],
    rop3: ["106002"],
    countries: ["ID"],
    daysAgo: 6,
  },
];

export const commitments: readonly DemoCommitment[] = [
  {
    org: "harbor-scripture",
    description: "Record and distribute forty audio stories in the language by next year.",
    accelerators: ["SRA-AUD"],
    need: 0,
    rop3: ["104567"],
    countries: ["NE"],
    dueInDays: 200,
    daysAgo: 100,
    status: "in_progress",
  },
  {
    org: "sahel-prayer",
    description: "Find twelve congregations that each pray through one week of the quarter.",
    accelerators: ["PRA-INT"],
    need: 0,
    rop3: ["104567"],
    countries: ["NE"],
    dueInDays: null,
    daysAgo: 90,
  },
  {
    org: "open-well",
    description: "Drill six wells and train a committee for each.",
    accelerators: ["COM-WAT"],
    need: 1,
    rop3: ["108213"],
    countries: ["TD"],
    dueInDays: 150,
    daysAgo: 60,
    status: "funded",
  },
  {
    org: "northern-light",
    description: "Train local leaders in non-formal courses, wherever we are invited.",
    accelerators: ["LED-NON"],
    need: null,
    rop3: [],
    countries: ["KE", "TZ"],
    dueInDays: 365,
    daysAgo: 20,
  },
];

export const engagementClaims: readonly DemoEngagementClaim[] = [
  {
    org: "harbor-scripture",
    description: "The first ten stories are recorded and played at three wells every market day.",
    accelerators: ["SRA-AUD"],
    commitment: 0,
    rop3: "104567",
    rog3: "NG",
    country: "NE",
    countryName: "Niger",
    daysAgo: 40,
  },
  {
    org: "northern-light",
    description: "Our team on the ground confirms that the recordings are listened to in the camps.",
    accelerators: ["SRA-AUD", "PRA-INT"],
    commitment: 0,
    rop3: "104567",
    rog3: "NG",
    country: "NE",
    countryName: "Niger",
    daysAgo: 25,
  },
  {
    org: "open-well",
    description: "Two wells give water; both committees have met.",
    accelerators: ["COM-WAT"],
    commitment: 2,
    rop3: "108213",
    rog3: "CD",
    country: "TD",
    countryName: "Chad",
    daysAgo: 10,
  },
  {
    org: "sahel-prayer",
    description: "A prayer guide for Ramadan was printed and given to eighty congregations.",
    accelerators: ["PRA-GUI"],
    commitment: null,
    rop3: null,
    rog3: null,
    country: "ML",
    countryName: "Mali",
    daysAgo: 50,
    status: "completed",
  },
];
