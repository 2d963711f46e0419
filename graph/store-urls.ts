// Where a graph store listens.

/** The endpoints of a store. */
export interface StoreUrls {
  queryUrl: string;
  updateUrl: string;
  graphStoreUrl: string;
}

/** The endpoints under a dataset's URL, named as in Fuseki. */
export function storeUrls(datasetUrl: string): StoreUrls {
  const base = datasetUrl.replace(/\/$/, "");
  return { queryUrl: `${base}/query`, updateUrl: `${base}/update`, graphStoreUrl: `${base}/data` };
}
