// The examples of church search.
import { church as churchRecord } from "../resources/church-schemas.ts";
import { WHEN } from "./example.ts";
import type { Example } from "./example.ts";

/** @see examplesOf */
export function churchExamples(): Record<string, Example> {
  const church = {
    ...Object.fromEntries(Object.keys(churchRecord.shape).map((column) => [column, null])),
    church_id: "us-el-cajon-shadow-mountain",
    name: "Shadow Mountain Community Church",
    latitude: 32.8,
    longitude: -116.91,
    address: "2100 Greenfield Drive",
    locality: "El Cajon",
    region: "CA",
    postal_code: "92019",
    country: "US",
    website: "https://www.shadowmountain.org",
    belief_type: "protestant",
    denomination: "Southern Baptist",
    created_at: WHEN,
    updated_at: WHEN,
  };
  const found = {
    church_id: church.church_id,
    name: church.name,
    locality: church.locality,
    country: church.country,
    distance_m: 4941.1,
  };
  const page = { limit: 3, has_more: true, next_cursor: "eyJkIjo0OTQxLjJ9" };
  return {
    searchChurches: {
      scope: "api_read",
      query: {
        center_lat: 32.7948,
        center_lng: -116.9625,
        radius_km: 25,
        limit: 3,
        fields: "church_id,name,locality,country,distance_m",
      },
      answer: { items: [found], ...page },
      alternatives: {
        "application/geo+json": {
          type: "FeatureCollection",
          features: [
            {
              type: "Feature",
              id: church.church_id,
              geometry: { type: "Point", coordinates: [church.longitude, church.latitude] },
              properties: found,
            },
          ],
          ...page,
        },
      },
    },
    getChurch: { scope: "api_read", params: { id: church.church_id }, answer: church },
  };
}
