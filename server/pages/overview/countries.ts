// Where needs are: a map, and the same numbers as a table.
import { html } from "hono/html";
import type { Content } from "../page.ts";
import { listLink } from "./links.ts";
import { count, format, numbers } from "./numbers.ts";
import { picture } from "./picture.ts";
import { HEIGHT, WIDTH, world } from "./world.ts";
import type { World } from "./world.ts";

type Group = { count: number; open: number; group: { country: { alpha2: string; name: string } | null } };
type Answer = { needs: { groupedAggregates: Group[] } };
type Country = { alpha2: string; name: string; needs: number; open: number };

const STEPS = 5;

export const countries = picture<Answer>({
  id: "countries",
  title: "Needs by country",
  query: `{
  needs {
    groupedAggregates(groupBy: [CONCERNS_COUNTRY_CODE], first: 300) {
      count
      open: count(status: [open])
      group {
        country {
          alpha2
          name
        }
      }
    }
  }
}`,
  draw: async ({ needs }) => {
    const found = needs.groupedAggregates.flatMap(({ count, open, group: { country } }) =>
      country ? [{ ...country, needs: count, open }] : [],
    );
    if (found.length === 0) return html`<p>No need concerns a country yet.</p>`;
    return html`${map(await world(), found)}
      <p class="quiet">A need that concerns several countries counts in each.</p>
      <details>
        <summary>As a table: ${countriesIn(found.length)}</summary>
        ${numbers(
          "Needs by country",
          ["Country", "Needs", "Open"],
          found.map(({ alpha2, name, needs, open }) => ({
            name,
            numbers: [
              count(needs, listLink("needs", { countryCode: alpha2 })),
              count(open, listLink("needs", { countryCode: alpha2, status: "open" })),
            ],
          })),
        )}
      </details>`;
  },
});

function map({ land, borders, shapeOf }: World, found: readonly Country[]): Content {
  const most = Math.max(...found.map(({ needs }) => needs));
  const unknown = found.filter(({ alpha2 }) => !shapeOf(alpha2)).map(({ name }) => name);
  return html`<svg
      class="map"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      role="group"
      aria-labelledby="map-title map-about"
      focusable="false"
    >
      <title id="map-title">Map of the needs by country</title>
      <desc id="map-about">
        The darker a country, the more needs concern it: from 1 to ${format(most)}. The table below has the
        numbers.
      </desc>
      <path class="land" d="${land}" />
      ${found.map((country) => {
        const shape = shapeOf(country.alpha2);
        const label = `${country.name}: ${needsIn(country)}`;
        return shape
          ? html`<a
              href="${listLink("needs", { countryCode: country.alpha2 })}"
              tabindex="-1"
              aria-label="${label}"
              ><title>${label}</title>${
                "outline" in shape
                  ? html`<path class="step-${stepOf(country.needs, most)}" d="${shape.outline}" />`
                  : html`<circle
                      class="step-${stepOf(country.needs, most)}"
                      cx="${shape.point[0].toFixed(1)}"
                      cy="${shape.point[1].toFixed(1)}"
                      r="3.5"
                    />`
              }</a
            >`
          : "";
      })}
      <path class="borders" d="${borders}" />
    </svg>
    ${unknown.length > 0 ? html`<p class="quiet">Not on this map: ${unknown.join(", ")}.</p>` : ""}`;
}

/** On a logarithmic scale, because a few countries have most of the needs. */
function stepOf(needs: number, most: number): number {
  return Math.max(1, Math.ceil((STEPS * Math.log1p(needs)) / Math.log1p(most)));
}

function needsIn({ needs, open }: Country): string {
  return `${format(needs)} ${needs === 1 ? "need" : "needs"}, ${format(open)} open`;
}

function countriesIn(number: number): string {
  return number === 1 ? "1 country" : `${format(number)} countries`;
}
