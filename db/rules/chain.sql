-- The chain that a record belongs to, for its page: the need, the commitments to it, and the engagement claims that
-- attest these. The functions have the caller's rights, so they read only what the caller may read.

create function app_private.chain_history(kind app_public.record_kind, id uuid, most integer) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(jsonb_agg(jsonb_build_object('status', h.to_status, 'at', h.changed_at, 'by', h.changed_by_email)
    order by h.status_history_id), '[]')
  from (
    select every.* from (
      select n.status_history_id, n.to_status, n.changed_at, n.changed_by_email
      from app_public.status_history as n where n.need_id = case when kind = 'need' then id end
      union all
      select c.status_history_id, c.to_status, c.changed_at, c.changed_by_email
      from app_public.status_history as c where c.commitment_id = case when kind = 'commitment' then id end
      union all
      select e.status_history_id, e.to_status, e.changed_at, e.changed_by_email
      from app_public.status_history as e where e.engagement_claim_id = case when kind = 'engagement_claim' then id end
    ) as every
    order by every.status_history_id desc limit most
  ) as h;
end;
comment on function app_private.chain_history is
  'The latest statuses of a record, oldest first: when each was set, and by whom.';

create function app_private.chain_node(kind app_public.record_kind, id uuid, steps integer) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  node jsonb;
begin
  case kind
    when 'need' then
      select jsonb_build_object('orgUri', n.org_uri, 'orgName', n.org_name, 'text', n.need_description, 'status', n.status,
          'by', n.declared_by_email, 'at', n.created_at,
          'children', (select count(*) from (select from app_public.commitments as c where c.concerns_need_id = id limit 1001) as c))
      into node from app_public.needs as n where n.need_id = id;
    when 'commitment' then
      select jsonb_build_object('orgUri', c.org_uri, 'orgName', c.org_name, 'text', c.commitment_description, 'status', c.status,
          'by', c.declared_by_email, 'at', c.created_at, 'due', c.target_completion_date, 'parent', c.concerns_need_id,
          'children', (
            select count(*) from (
              select from app_public.engagement_claims as e where e.fulfills_commitment_id = id limit 1001) as e))
      into node from app_public.commitments as c where c.commitment_id = id;
    when 'engagement_claim' then
      select jsonb_build_object('orgUri', e.org_uri, 'orgName', e.org_name, 'text', e.description, 'status', e.status,
          'by', e.claimed_by_email, 'at', e.created_at, 'parent', e.fulfills_commitment_id, 'children', 0)
      into node from app_public.engagement_claims as e where e.claim_id = id;
  end case;
  return node || jsonb_build_object('kind', kind, 'id', id, 'history', app_private.chain_history(kind, id, steps));
end
$$;
comment on function app_private.chain_node is
  'A record as its chain shows it, with its latest statuses, at most steps of them. children is the number of records that '
  'answer it, counted up to 1001. Null if there is no such record.';

create function app_private.chain(kind app_public.record_kind, id uuid, page integer) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  -- The most records that answer the record itself, and the most beside it.
  own constant integer := 50;
  beside constant integer := 10;
  passed constant bigint := (page::bigint - 1) * own;
  need uuid := case when kind = 'need' then id end;
  commitment uuid := case when kind = 'commitment' then id end;
  commitments uuid[];
  claims uuid[];
  nodes jsonb;
begin
  if kind = 'engagement_claim' then
    commitment := (select e.fulfills_commitment_id from app_public.engagement_claims as e where e.claim_id = id);
  end if;
  if commitment is not null then
    need := (select c.concerns_need_id from app_public.commitments as c where c.commitment_id = commitment);
  end if;
  if kind = 'need' then
    commitments := array(
      select c.commitment_id from app_public.commitments as c where c.concerns_need_id = need
      order by c.created_at desc, c.commitment_id desc limit own offset passed);
    -- One engagement claim of each commitment before a second of any.
    claims := array(
      select found.claim_id
      from unnest(commitments) with ordinality as c (commitment_id, place)
      cross join lateral (
        select e.claim_id, row_number() over (order by e.created_at desc, e.claim_id desc) as turn
        from app_public.engagement_claims as e where e.fulfills_commitment_id = c.commitment_id
        order by e.created_at desc, e.claim_id desc limit own) as found
      order by found.turn, c.place limit own);
  else
    commitments := array_remove(commitment || array(
      select c.commitment_id from app_public.commitments as c
      where c.concerns_need_id = need and c.commitment_id <> commitment
      order by c.created_at desc, c.commitment_id desc limit beside), null);
    claims := case kind
      when 'commitment' then array(
        select e.claim_id from app_public.engagement_claims as e where e.fulfills_commitment_id = commitment
        order by e.created_at desc, e.claim_id desc limit own offset passed)
      else id || array(
        select e.claim_id from app_public.engagement_claims as e
        where e.fulfills_commitment_id = commitment and e.claim_id <> id
        order by e.created_at desc, e.claim_id desc limit beside)
    end;
  end if;
  select jsonb_agg(node order by shown.place)
  into nodes
  from (
    select 'need'::app_public.record_kind as kind, need as id, 0 as place
    union all
    select 'commitment', c.id, c.place from unnest(commitments) with ordinality as c (id, place)
    union all
    -- In the order in which they were found: of each commitment the newest first, but the record itself before all others.
    select 'engagement_claim', e.id, own + e.place from unnest(claims) with ordinality as e (id, place)
  ) as shown
  cross join lateral app_private.chain_node(shown.kind, shown.id, case when shown.id = chain.id then 100 else 5 end) as node
  where shown.id is not null and node is not null;
  -- A record that does not exist has no chain.
  if nodes @> jsonb_build_array(jsonb_build_object('id', id)) then
    return jsonb_build_object('id', id, 'page', page, 'pages', 1 + (greatest((
      select (node -> 'children')::bigint from jsonb_array_elements(nodes) as node where node ->> 'id' = chain.id::text), 1) - 1) / own,
      'nodes', nodes);
  end if;
  return null;
end
$$;
comment on function app_private.chain is
  'The chain around a record: the records that it answers, a page of 50 of those that answer it, newest first, and ten of '
  'those beside it at each step. Null if there is no such record.';
