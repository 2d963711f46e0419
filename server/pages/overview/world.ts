// The map of the world: the outlines of countries, drawn once for all visitors.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { ExtendedFeatureCollection } from "d3-geo";
import type { GeometryCollection, Topology } from "topojson-specification";

export const WIDTH = 720;
export const HEIGHT = 350;

/** How a country is drawn: by its outline, or by a point where it would be too small to be seen. */
type Shape = { outline: string } | { point: readonly [x: number, y: number] };

/** The map, as paths of SVG. */
export type World = {
  land: string;
  borders: string;
  /** @returns undefined for a country whose code the atlas does not have */
  shapeOf: (alpha2: string) => Shape | undefined;
};

type Atlas = Topology<{ countries: GeometryCollection; land: GeometryCollection }>;

const FILES = createRequire(import.meta.url);
const ANTARCTICA = "010";

let drawn: Promise<World> | undefined;

/** The map; drawn when it is first needed. */
export function world(): Promise<World> {
  return (drawn ??= draw());
}

async function draw(): Promise<World> {
  const [{ geoNaturalEarth1, geoPath }, { feature, mesh }, codes, coarse, fine] = await Promise.all([
    import("d3-geo"),
    import("topojson-client"),
    import("i18n-iso-countries"),
    read(FILES.resolve("world-atlas/countries-110m.json")),
    // Has the small countries too.
    read(FILES.resolve("world-atlas/countries-50m.json")),
  ]);
  const { geometries } = coarse.objects.countries;
  const shown = { ...coarse.objects.countries, geometries: geometries.filter(({ id }) => id !== ANTARCTICA) };
  const featuresOf = (atlas: Atlas, countries: GeometryCollection) =>
    (feature(atlas, countries) as ExtendedFeatureCollection).features;
  const features = featuresOf(coarse, shown);
  const projection = geoNaturalEarth1().fitSize([WIDTH, HEIGHT], { type: "FeatureCollection", features });
  const path = geoPath(projection).digits(1);
  const shapes = new Map<unknown, Shape>(
    featuresOf(fine, fine.objects.countries).map((each) => [each.id, { point: path.centroid(each) }]),
  );
  for (const each of features) shapes.set(each.id, { outline: path(each) ?? "" });
  // Areas without a code: an unknown alpha-2 code would find them as well.
  shapes.delete(undefined);
  return {
    land: path({ type: "FeatureCollection", features }) ?? "",
    borders: path(mesh(coarse, shown, (a, b) => a !== b)) ?? "",
    shapeOf: (alpha2) => shapes.get(codes.default.alpha2ToNumeric(alpha2)),
  };
}

async function read(path: string): Promise<Atlas> {
  return JSON.parse(await readFile(path, "utf8")) as Atlas;
}
