// The requests of callers, in the proportions of a working day: five reads to a write.
import type autocannon from "autocannon";
import { WRITER } from "../faults/service.ts";

const LIST = `{ needs(first: 20, orderBy: CREATED_AT_DESC) { nodes { needId status organization { name } } } }`;
const CHAIN = `prefix ns: <https://ontology.example.org/core#>
  select ?need ?status where { ?need ns:needStatus ?status } limit 20`;

const need = (n: number) => ({
  orgUri: WRITER.orgUri,
  orgName: WRITER.orgName,
  declaredByEmail: WRITER.email,
  needDescription: `Audio Scriptures, load ${n}`,
  accelerators: ["PRA"],
  concernsCountryCode: ["KE"],
});

let made = 0;

/** The requests of a connection, one after another; it reads and changes the need that it creates. */
export function mix(): autocannon.Request[] {
  const post = (path: string, body: object): autocannon.Request => ({
    method: "POST",
    path,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  type Made = { needId?: string };
  return [
    { method: "GET", path: "/v0/needs?limit=20&status=open" },
    post("/graphql", { query: LIST }),
    {
      ...post("/v0/needs", {}),
      setupRequest: (request) => ({ ...request, body: JSON.stringify(need((made += 1))) }),
      onResponse: (status, body, context: Made) => {
        if (status === 201) context.needId = (JSON.parse(body) as { needId: string }).needId;
      },
    },
    {
      method: "GET",
      setupRequest: (request, context: Made) => ({
        ...request,
        path: context.needId ? `/v0/needs/${context.needId}` : "/v0/accelerators",
      }),
    },
    { method: "GET", path: "/v0/orgs/search?q=grace+chapel&limit=10" },
    { method: "GET", path: "/v0/commitments?limit=20" },
    {
      ...post("/v0/needs/status", {}),
      // The needs that were there before stay open, so that neither list runs empty.
      setupRequest: (request, context: Made) => ({
        ...request,
        ...(context.needId
          ? {
              body: JSON.stringify({
                needId: context.needId,
                status: "met",
                actorEmail: WRITER.email,
              }),
            }
          : { method: "GET", path: "/v0/accelerators", body: "" }),
      }),
    },
    {
      method: "POST",
      path: "/v0/sparql",
      headers: { "content-type": "application/sparql-query", accept: "text/csv" },
      body: CHAIN,
    },
    { method: "GET", path: "/v0/needs?limit=50" },
    { method: "GET", path: "/v0/orgs/search?center_lat=40&center_lng=-75&radius_km=25&limit=20" },
    { method: "GET", path: "/v0/accelerators" },
    { method: "GET", path: "/v0/health" },
  ];
}
