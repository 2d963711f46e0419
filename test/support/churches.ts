// Many churches for the search tests, and what a search must find, worked out without it.
import type pg from "pg";

/** As much of a church as the search tests need. */
export type Place = { church_id: string; latitude: number; longitude: number };

const EARTH = 6_371_008.8;
const radians = (degrees: number) => (degrees * Math.PI) / 180;

/** Great-circle distance in metres by the haversine formula, on an earth of mean radius. */
export function haversine(a: Omit<Place, "church_id">, b: Omit<Place, "church_id">): number {
  const [lat1, lat2] = [radians(a.latitude), radians(b.latitude)];
  const h =
    Math.sin((lat2 - lat1) / 2) ** 2 +
    Math.cos(lat1) * Math.cos(lat2) * Math.sin(radians(b.longitude - a.longitude) / 2) ** 2;
  return 2 * EARTH * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Puts churches into a database, with whatever columns they have. */
export async function insertChurches(db: pg.Pool, churches: readonly object[]): Promise<void> {
  await db.query(
    `insert into app_public.churches
       (church_id, name, latitude, longitude, locality, region, postal_code, country, belief_type, denomination,
        trinitarian, ministry_names, service_languages)
     select church_id, coalesce(name, 'Church ' || church_id), latitude, longitude, locality, region, postal_code, country,
       coalesce(belief_type, 'unknown'), denomination, trinitarian, ministry_names, service_languages
     from jsonb_populate_recordset(null::app_public.churches, $1)`,
    [JSON.stringify(churches)],
  );
}
