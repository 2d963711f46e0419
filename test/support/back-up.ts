// A backup of a graph store, as an operator restores it.
import type { GraphStore } from "../../graph/store.ts";

/** Everything in a store, to be put back later. */
export async function backUp(store: GraphStore): Promise<() => Promise<void>> {
  const graphs = await store.select("select distinct ?g where { graph ?g { ?s ?p ?o } }");
  const copies = await Promise.all(
    graphs.map(async ({ g }) => {
      const text = await store.construct(`construct { ?s ?p ?o } where { graph <${g!.value}> { ?s ?p ?o } }`);
      return `INSERT DATA { GRAPH <${g!.value}> { ${text} } }`;
    }),
  );
  // At once: who looks at a store in the middle of it finds another loss than the one that is to be found.
  return () => store.update(["DROP ALL", ...copies].join(" ;\n"));
}
