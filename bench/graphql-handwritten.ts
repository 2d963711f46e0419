// The baseline for the GraphQL figures: an Express route for each query, which sends the one SQL statement
// that one would write for it by hand, without key, role or transaction.
import type { AddressInfo } from "node:net";
import express from "express";
import { createPool } from "../db/pool.ts";

const STATEMENTS = {
  list: `
    select json_build_object('needs', json_build_object('nodes', coalesce(json_agg(json_build_object(
      'needId', n.need_id, 'status', n.status, 'createdAt', n.created_at,
      'organization', json_build_object('name', o.name)) order by n.created_at desc, n.need_id desc), '[]')))::text as answer
    from (select * from app_public.needs order by created_at desc, need_id desc limit 20) as n
    join app_public.organizations as o using (org_uri)`,
  rate: `
    select json_build_object('groups', coalesce(json_agg(g), '[]'))::text as answer
    from (
      select a.pref_label as "prefLabel", date_trunc('month', h.changed_at, 'UTC') as month, count(*),
        count(*) filter (where h.to_status in ('fulfilled', 'partially_fulfilled'))::float8 / count(*) as rate
      from app_public.status_history as h
      join app_public.commitments as c using (commitment_id)
      cross join lateral unnest(c.accelerator_scope) as scope (code)
      left join app_public.accelerators as a using (code)
      where h.to_status in ('fulfilled', 'partially_fulfilled', 'abandoned', 'expired')
      group by scope.code, a.pref_label, month
      order by min(h.changed_at) limit 100
    ) as g`,
};

const pool = createPool(process.env["DATABASE_URL"]!, { max: 20 });
const app = express();
app.use(express.json());
for (const [name, text] of Object.entries(STATEMENTS)) {
  app.post(`/${name}`, async (_request, response) => {
    const { rows } = await pool.query<{ answer: string }>({ name, text });
    response.type("json").send(`{"data":${rows[0]!.answer}}`);
  });
}
const server = app.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.once("SIGTERM", () => process.exit(0));
