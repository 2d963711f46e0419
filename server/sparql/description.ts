// The service description of /v0/sparql (SPARQL 1.1 Service Description), which clients ask for before they query.
import { FORMAT_IRIS } from "../../graph/media-types.ts";
import type { GuardedQuery } from "../../graph/sparql-guard.ts";

/**
 * The query whose answer is the description. As a query it comes in every format that the store has, and it is
 * answered only while queries are.
 */
export function descriptionQuery(endpoint: string, namedGraphs: readonly string[]): GuardedQuery {
  const formats = FORMAT_IRIS.map((iri) => `<${iri}>`).join(", ");
  const graphs = namedGraphs.map((graph) => `[ a sd:NamedGraph ; sd:name <${graph}> ]`).join(", ");
  return {
    form: "construct",
    text: `PREFIX sd: <http://www.w3.org/ns/sparql-service-description#>
CONSTRUCT {
  [] a sd:Service ;
    sd:endpoint <${endpoint}> ;
    sd:supportedLanguage sd:SPARQL11Query ;
    sd:resultFormat ${formats} ;
    sd:feature sd:UnionDefaultGraph ;
    sd:defaultDataset [ a sd:Dataset ; sd:defaultGraph [ a sd:Graph ] ; sd:namedGraph ${graphs} ] .
} WHERE {}`,
  };
}
