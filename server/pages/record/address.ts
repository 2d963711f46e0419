// Resolves the graph's URIs at this service: to a page for browsers, to SPARQL or REST for other clients.
import type { RequestHandler } from "express";
import type { Names } from "../../../graph/namespaces.ts";
import { GRAPH_TYPES } from "../../../graph/media-types.ts";
import { RECORDS } from "../../../records/index.ts";
import type { Door } from "../../door.ts";
import { organizationPath } from "./kinds.ts";

const HTML = "text/html";
const JSON_TYPE = "application/json";

/** Answers under the path of GRAPH_DATA_URL, and at pages of records for clients that do not want HTML. */
export function graphAddresses({ graphDataUrl }: Pick<Names, "graphDataUrl">): Door {
  const base = new URL(graphDataUrl).pathname.replace(/\/$/, "");
  return (app) => {
    for (const { path } of Object.values(RECORDS)) {
      const lead = leadOn((id) => ({
        page: `/${path}/${id}`,
        uri: `${graphDataUrl}/${path}/${id}`,
        rest: `/v0/${path}/${id}`,
      }));
      app.get(`/${path}/:id`, lead);
      // Under /v0 this address is already one of REST's.
      if (base !== "" && base !== "/v0") app.get(`${base}/${path}/:id`, lead);
    }
    app.get(
      `${base}/org/:id`,
      leadOn((id) => {
        const uri = `${graphDataUrl}/org/${id}`;
        const page = organizationPath(uri);
        return { page, uri, rest: `/v0${page}` };
      }),
    );
  };
}

type Places = { page: string; uri: string; rest: string };

function leadOn(placesOf: (id: string) => Places): RequestHandler<{ id: string }> {
  return (request, response, next) => {
    const id = encodeURIComponent(request.params.id);
    const { page, uri, rest } = placesOf(id);
    response.vary("accept");
    // The first type is for clients that accept anything, as programs do and browsers do not.
    const wanted = request.accepts([...GRAPH_TYPES, JSON_TYPE, HTML]);
    if (wanted === HTML && request.path === page) return next();
    response.redirect(303, wanted === HTML ? page : wanted === JSON_TYPE ? rest : describe(uri));
  };
}

function describe(uri: string): string {
  return `/v0/sparql?${new URLSearchParams({ query: `DESCRIBE <${uri}>` }).toString()}`;
}
