// Churches distributed and named like real ones: many small towns and a few large cities, and a few hundred
// words that make up most names. The same in every run.
import { randomNumbers } from "../test/support/churches.ts";

const LOCALITIES = 40_000;
const COLUMNS =
  "church_id,name,latitude,longitude,address,locality,region,postal_code,country,website,belief_type,denomination," +
  "church_summary,ministry_names,service_languages,service_times,extraction_confidence";

const FIRST = words(
  "First Second Grace Calvary New-Life Faith Hope Mount-Zion Living-Water Redeemer Emmanuel Bethel",
);
const SAINTS = words(
  "Mary John Peter Paul Luke Mark Andrew Joseph Anne Michael George Nicholas Thomas Francis Clare",
);
const KINDS = words(
  "Baptist Community Chapel Lutheran Methodist Presbyterian Pentecostal Fellowship Bible Reformed",
);
const PROGRAMS = words(
  "Youth Kids Worship Missions Food-Pantry ESL Recovery Small-Groups Men Women Seniors Choir",
);
const LANGUAGES = words("English Spanish French Portuguese Tagalog Korean Yoruba Fijian Samoan Swahili");
const COUNTRIES = words("US US US BR NG MX PH KE GB DE FR CA AU IN FJ KR");
const BELIEFS = words(
  "protestant protestant protestant roman_catholic roman_catholic orthodox anglican other unknown",
);

/** CSV as text: a header, then rows in chunks. */
export function* churchCsv(count: number): Iterable<string> {
  const random = randomNumbers(7);
  const pick = (from: readonly string[]) => from[Math.floor(random() * from.length)]!;
  yield `${COLUMNS}\n`;
  for (let done = 0; done < count;) {
    const rows: string[] = [];
    for (; rows.length < 1_000 && done < count; done++) {
      // The largest of 40,000 places has half a percent of the churches.
      const place = townOf(Math.floor(LOCALITIES * random() ** 2));
      const saint = random() < 0.4;
      const name = `${saint ? `St. ${pick(SAINTS)}` : pick(FIRST)} ${pick(KINDS)} Church${random() < 0.5 ? ` of ${place.name}` : ""}`;
      const spread = () => (random() + random() - 1) * 0.15;
      rows.push(
        [
          `bench-${((done * 2_654_435_761) >>> 0).toString(16).padStart(8, "0")}`,
          name,
          (place.latitude + spread()).toFixed(6),
          (place.longitude + spread()).toFixed(6),
          `${1 + Math.floor(random() * 999)} Main Street`,
          place.name,
          place.region,
          place.postalCode,
          place.country,
          `https://church-${done}.example`,
          pick(BELIEFS),
          pick(KINDS),
          "A church family that meets on Sundays and through the week.",
          `${pick(PROGRAMS)}; ${pick(PROGRAMS)}`,
          random() < 0.8 ? "English" : `${pick(LANGUAGES)}; ${pick(LANGUAGES)}`,
          "600",
          random().toFixed(2),
        ].join(","),
      );
    }
    yield `${rows.join("\n")}\n`;
  }
}

function townOf(rank: number) {
  const random = randomNumbers(rank * 7_919 + 1);
  return {
    name: capitalized(
      Array.from({ length: 3 }, () => SYLLABLES[Math.floor(random() * SYLLABLES.length)]).join(""),
    ),
    latitude: 10 + 45 * Math.sin((random() - 0.5) * Math.PI),
    longitude: random() * 359 - 179.5,
    region: `R${rank % 1_500}`,
    postalCode: String(10_000 + (rank % 90_000)),
    country: COUNTRIES[(rank % 1_500) % COUNTRIES.length]!,
  };
}

const SYLLABLES = words(
  "ba be bo da den di fa fo ga gel ha hol ka kir la lin lo ma mer mo na nor pa ra ri sa sel ta tor va vil wa",
);

function words(text: string): string[] {
  return text.split(" ").map((word) => word.replaceAll("-", " "));
}

function capitalized(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1);
}
