-- The review queue of the service's pages (server/pages/claims): the claims that the person who is calling may review, found
-- and counted, also on the page of an organization, and what a reviewer needs to know of one. Decisions are made in
-- claim-review.sql, as for all callers.

-- Loads pg_trgm, for the settings below (see church-conditions.sql).
do $$ begin perform public.similarity('', ''); end $$;

create function app_private.claims_to_review() returns setof app_public.organization_claims
-- Without a search_path of its own, so that PostgreSQL can inline it.
language sql stable
as $$
  select c.* from app_public.organization_claims as c
  where (select app_private.has_platform_permission(app_private.current_person(), 'claims:review'))
    or c.routed_to = 'organization'
      and c.org_uri in (select app_private.managed_organizations(app_private.current_person()));
$$;
comment on function app_private.claims_to_review is
  'The claims that the person who is calling may review, including decided ones: all of them, or those sent to the '
  'organizations whose members they manage.';

create function app_private.require_reviewer() returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  sees_all constant boolean := app_private.has_platform_permission(app_private.current_person(), 'claims:review');
begin
  perform app_private.organizations_reviewed(app_private.current_person(), sees_all);
  return sees_all;
end
$$;
comment on function app_private.require_reviewer is
  'Whether the person who is calling reviews all claims; refuses with 403 permission_required a person who reviews none.';

create function app_private.claims_with_words(q text) returns setof uuid
language sql stable
set search_path = pg_catalog, public, pg_temp
begin atomic
  with words as (
    -- The longest six: each word is looked up by itself, so their number must have a limit.
    select part from app_private.parts_of(q) as parts, unnest(parts[1:6]) as part
  )
  select found.claim_id
  from words as w
  cross join lateral (
    select c.claim_id
    from app_public.users as u join app_public.organization_claims as c on c.user_id = u.user_id
    where app_private.person_text(u) like w.part
    union
    select c.claim_id
    from app_public.organizations as o join app_public.organization_claims as c on c.org_uri = o.org_uri
    where app_private.fold(o.name || ' ' || coalesce(o.domain, '')) like w.part
  ) as found
  group by found.claim_id
  having count(*) = (select count(*) from words);
end;
comment on function app_private.claims_with_words is
  'The claims in which each of the words (at most the longest six) occurs in the person''s name or address, or in the '
  'organization''s name or domain, ignoring case and accents.';

create function app_private.queued_claim(claim app_public.organization_claims) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_build_object(
    'id', claim.claim_id, 'email', u.email, 'name', app_private.full_name(u),
    'orgName', claim.org_name, 'isNewOrg', claim.is_new_org, 'createdAt', claim.created_at,
    'status', app_private.review_status(claim.status), 'isProven', claim.email_verified,
    'domainMatch', claim.domain_match and not claim.org_domain_stated,
    'reviewedBy', r.email, 'reviewedAt', claim.reviewed_at,
    'isOpen', claim.status = 'pending_review' and app_private.may_review(claim, app_private.current_person()),
    'isOwn', lower(u.email) = lower(app_private.current_person()))
  from app_public.users as u
  left join app_public.users as r on r.user_id = claim.reviewed_by
  where u.user_id = claim.user_id;
end;
comment on function app_private.queued_claim is 'A claim as a line of the queue shows it.';

create function app_private.roles_to_give(is_new_org boolean) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  -- As in review_organization_claim, a reviewer may give any role.
  with roles as (
    select r.role, r.description, count(p.permission) as powers,
      case when is_new_org then app_private.manages_members(r.role) else r.role = app_private.usual_role() end as fits
    from app_public.organization_roles as r
    left join app_public.organization_permissions as p on p.role = r.role
    group by r.role, r.description
  )
  select coalesce(jsonb_agg(jsonb_build_object('role', r.role, 'description', r.description,
      -- A new organization needs somebody who manages it.
      'isUsual', r.role = (select f.role from roles as f where f.fits order by f.powers desc, f.role limit 1))
    order by r.powers, r.role), '[]')
  from roles as r;
end;
comment on function app_private.roles_to_give is
  'The roles that can be given by approving a claim, the one with the fewest permissions first, and which of them is the '
  'usual one.';

create function app_private.own_reasons() returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce(jsonb_agg(given.notes order by given.last_used desc), '[]')
  from (
    select c.review_notes as notes, max(c.reviewed_at) as last_used
    from app_public.organization_claims as c
    join app_public.users as u on u.user_id = c.reviewed_by
    -- Longer notes were written for one case.
    where lower(u.email) = lower(app_private.current_person()) and c.status = 'rejected' and char_length(c.review_notes) <= 500
    group by c.review_notes order by max(c.reviewed_at) desc limit 8
  ) as given;
end;
comment on function app_private.own_reasons is 'The last eight notes with which the person who is calling rejected claims.';

create function app_private.claim_queue(
  q text default null, status app_public.claim_review_status default null, sent_to text default null,
  proven boolean default null, org_uri text default null, newest boolean default false, at uuid default null,
  most integer default 20
) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  cursor_at timestamptz;
  is_searched constant boolean not null default app_private.trimmed(q) is not null;
  -- Computed for the few statuses, not for each claim.
  statuses constant app_public.organization_claim_status[] := array(
    select s from unnest(enum_range(null::app_public.organization_claim_status)) as s
    where coalesce(app_private.review_status(s) = claim_queue.status, true));
begin
  perform app_private.require_reviewer();
  select c.created_at into cursor_at from app_private.claims_to_review() as c where c.claim_id = at;
  return (
    with matching as materialized (
      select c.claim_id, c.created_at, c.status
      from app_private.claims_to_review() as c
      where (claim_queue.org_uri is null or c.org_uri = claim_queue.org_uri)
        and (sent_to is null or c.routed_to = sent_to)
        and (proven is null or c.email_verified = proven)
        and (not is_searched or c.claim_id in (select app_private.claims_with_words(q)))
    ), aged as (
      select m.claim_id, m.created_at, row_number() over (order by m.created_at, m.claim_id) as place, count(*) over () as total
      from matching as m
      where m.status = any (statuses)
    ), listed as materialized (
      select a.claim_id, a.created_at, case when newest then a.total + 1 - a.place else a.place end as place from aged as a
    ), anchor as (
      -- A claim that is not in the list, for instance because it was decided just now, stands where it would be.
      select count(*) filter (where case when newest then (l.created_at, l.claim_id) > (cursor_at, at)
          else (l.created_at, l.claim_id) < (cursor_at, at) end) as before,
        count(*) filter (where l.claim_id = at) as itself
      from listed as l
    ), page as (
      select a.before / most * most as start, a.before as preceding, a.before + a.itself + 1 as following from anchor as a
    )
    select jsonb_build_object(
      'total', (select count(*) from listed),
      'roles', app_private.roles_to_give(false),
      'reasons', app_private.own_reasons(),
      'start', p.start,
      'counts', (
        select jsonb_object_agg(c.status, c.number)
        from (
          select app_private.review_status(s.status) as status, coalesce(sum(m.number), 0) as number
          from unnest(enum_range(null::app_public.organization_claim_status)) as s (status)
          left join (select m.status, count(*) as number from matching as m group by m.status) as m on m.status = s.status
          group by 1
        ) as c),
      'claims', coalesce((
        select jsonb_agg(app_private.queued_claim(c) order by l.place)
        from listed as l join app_public.organization_claims as c on c.claim_id = l.claim_id
        where l.place > p.start and l.place <= p.start + most), '[]'),
      'previousPage', (select l.claim_id from listed as l where l.place = greatest(p.start + 1 - most, 1) and p.start > 0),
      'nextPage', (select l.claim_id from listed as l where l.place = p.start + most + 1),
      'preceding', (select l.claim_id from listed as l where l.place = p.preceding),
      'following', (select l.claim_id from listed as l where l.place = p.following))
    from page as p);
end
$$;
comment on function app_private.claim_queue is
  'A page of the claims that the person who is calling may review, oldest first unless newest is true: the page with the '
  'claim `at`, and the claims before and after it. counts is by status, whatever status is asked for. Errors: 403 '
  'permission_required.';

create function app_private.earlier_claim(claim app_public.organization_claims) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
return app_private.queued_claim(claim) || jsonb_build_object('orgUri', claim.org_uri, 'notes', claim.review_notes,
  'role', claim.granted_role);
comment on function app_private.earlier_claim is 'A claim as it is listed beside another, with its outcome.';

create function app_private.similar_organizations(organization app_public.organizations, email_domain text, sees_all boolean)
returns jsonb
language sql stable
set search_path = pg_catalog, public, pg_temp
set pg_trgm.similarity_threshold = 0.45
set pg_trgm.word_similarity_threshold = 0.8
begin atomic
  with hosts as (
    select array_agg(h.host) as names
    from unnest(array[organization.domain, app_private.website_host(organization.website), email_domain]) as h (host)
    where h.host is not null and not app_private.is_free_mail(h.host)
  ), alike (org_uri, name, status, reason) as (
    select o.org_uri, o.name, o.status, 'name' from app_public.organizations as o
    where app_private.fold(o.name) % app_private.fold(organization.name)
    union
    select o.org_uri, o.name, o.status, 'name' from app_public.organizations as o
    where app_private.fold(organization.name) <% app_private.fold(o.name)
    union
    select o.org_uri, o.name, o.status, 'domain' from app_public.organizations as o, hosts as h
    where lower(o.domain) = any (h.names)
    union
    select o.org_uri, o.name, o.status, 'website' from app_public.organizations as o, hosts as h
    where app_private.website_host(o.website) = any (h.names)
  ), best as materialized (
    select a.org_uri, array_agg(a.reason order by a.reason) as alike,
      similarity(app_private.fold(a.name), app_private.fold(organization.name))
        + count(*) filter (where a.reason <> 'name') as likeness
    from alike as a
    -- Organizations that are not public are shown only to those who review all claims.
    where a.org_uri <> organization.org_uri and (sees_all or a.status = 'active')
    group by a.org_uri, a.name
    order by likeness desc, a.name, a.org_uri limit 8
  )
  select coalesce(jsonb_agg(jsonb_build_object(
      'uri', o.org_uri, 'name', o.name, 'status', o.status, 'type', o.type, 'website', o.website, 'domain', o.domain,
      'alike', b.alike,
      'members', (select count(*) from app_private.members as m where m.org_uri = o.org_uri and m.status = 'active'),
      'waiting', (select count(*) from app_public.organization_claims as c
        where sees_all and c.org_uri = o.org_uri and c.status = 'pending_review'))
    order by b.likeness desc, o.name, o.org_uri), '[]')
  from best as b join app_public.organizations as o on o.org_uri = b.org_uri;
end;
comment on function app_private.similar_organizations is
  'Organizations that may be the same one under another URI, likeliest first, at most eight: those with a similar name, or '
  'with a domain or website that belongs to the organization or to the claimant''s address. alike says which.';

create function app_private.claims_with_similar_organizations(
  admin_email text, status app_public.claim_review_status, "limit" integer, "offset" integer
) returns json
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  page constant app_public.organization_claim_page :=
    app_public.organization_claims_for_review(admin_email, status, "limit", "offset");
  -- A key with bounds does not learn of organizations beyond them that are not public.
  sees_all constant boolean := app_private.has_platform_permission(app_private.acting_email(admin_email), 'claims:review')
    and (app_private.key_bounds()).organizations is null;
begin
  return (
    with listed as materialized (
      select c as claim, row_number() over () as place from unnest(page.claims) as c
    ), alike as materialized (
      -- Once for each organization and e-mail domain, and only within two seconds: among tens of thousands of similar
      -- names the search takes long, and the list must be returned all the same.
      select asked.org_uri, asked.email_domain, case when clock_timestamp() < statement_timestamp() + interval '2 seconds' then (
        select coalesce(json_agg(json_build_object(
            'org_uri', s.found -> 'uri', 'org_name', s.found -> 'name', 'org_type', s.found -> 'type',
            'org_website', s.found -> 'website', 'org_domain', s.found -> 'domain', 'status', s.found -> 'status',
            'alike', s.found -> 'alike', 'members', s.found -> 'members',
            'waiting', case when sees_all then s.found -> 'waiting' end) order by s.place), '[]')
        from jsonb_array_elements(app_private.similar_organizations(o, asked.email_domain, sees_all))
          with ordinality as s (found, place)) end as similar_organizations
      from (select distinct (l.claim).org_uri, (l.claim).email_domain from listed as l) as asked
      join app_public.organizations as o on o.org_uri = asked.org_uri
    )
    select json_build_object('claims', coalesce(json_agg(item order by l.place), '[]'), 'total', page.total)
    from listed as l
    -- A left join, so that no claim is missing from the list, whatever is wrong with its organization.
    left join alike as a on a.org_uri = (l.claim).org_uri and a.email_domain = (l.claim).email_domain
    cross join lateral (
      select (l.claim).*, case when a.org_uri is null then '[]' else a.similar_organizations end as similar_organizations) as item);
end
$$;
comment on function app_private.claims_with_similar_organizations is
  'The result of organization_claims_for_review, each claim with the organizations that similar_organizations finds for it; '
  'null where there was no time to search. Organizations that are not public, and the number of claims waiting for each, are '
  'shown only to those who see all claims, and not if the calling key has bounds.';

create function app_private.reviewed_organization(organization app_public.organizations, sees_people boolean) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_build_object(
    'uri', organization.org_uri, 'name', organization.name, 'status', organization.status, 'type', organization.type,
    'website', organization.website, 'domain', organization.domain,
    'members', (select count(*) from app_private.members as m
      where m.org_uri = organization.org_uri and m.status = 'active'),
    'administrators', (select count(*) from app_private.organization_managers as m where m.org_uri = organization.org_uri),
    'administratorsNamed', coalesce((
      select jsonb_agg(jsonb_build_object('email', (p.manager).email, 'name', app_private.full_name(p.manager)))
      from (
        select u as manager from app_private.organization_managers as m join app_public.users as u on u.user_id = m.user_id
        where m.org_uri = organization.org_uri and sees_people order by lower(u.email) limit 5
      ) as p), '[]'),
    'needs', app_private.record_total('need', organization.org_uri),
    'commitments', app_private.record_total('commitment', organization.org_uri),
    'engagementClaims', app_private.record_total('engagement_claim', organization.org_uri));
end;
comment on function app_private.reviewed_organization is
  'What a reviewer sees of an organization. At most five of those who manage it are named, if the reviewer may see people '
  'there.';

create function app_private.claim_to_review(claim_id uuid) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  reviewer constant text := app_private.current_person();
  most constant integer not null default 10;
  sees_all constant boolean := app_private.require_reviewer();
  claim app_public.organization_claims;
  organization app_public.organizations;
  item jsonb;
begin
  select * into claim from app_private.claims_to_review() as c where c.claim_id = claim_to_review.claim_id;
  if claim.claim_id is null then
    perform app_private.refuse('claim_not_found');
  end if;
  select * into organization from app_public.organizations as o where o.org_uri = claim.org_uri;
  item := app_private.queued_claim(claim);
  return item || jsonb_build_object(
    'sentTo', claim.routed_to, 'newOrgType', claim.new_org_type, 'newOrgWebsite', claim.new_org_website,
    'statedRoles', claim.stated_roles, 'emailDomain', claim.email_domain,
    'isFreeMail', app_private.is_free_mail(claim.email_domain),
    'orgDomain', claim.org_domain, 'isAtDomain', claim.domain_match, 'isDomainStated', claim.org_domain_stated,
    'notes', claim.review_notes, 'role', claim.granted_role,
    'steps', (
      select coalesce(jsonb_agg(jsonb_build_object('to', s.to_status, 'by', s.changed_by_email, 'at', s.changed_at)), '[]')
      from unnest(app_private.claim_steps(claim.claim_id)) as s),
    -- Nobody decides on their own claim, or on a claim that is already decided.
    'roles', case when item @> '{"isOpen": true, "isOwn": false}' then app_private.roles_to_give(claim.is_new_org) else '[]' end,
    'reasons', app_private.own_reasons(),
    'organization', app_private.reviewed_organization(organization,
      app_private.has_platform_permission(reviewer, 'users:read')
        or claim.org_uri in (select app_private.managed_organizations(reviewer))),
    'similar', app_private.similar_organizations(organization, claim.email_domain, sees_all),
    'earlier', coalesce((
      select jsonb_agg(app_private.earlier_claim(c) order by c.created_at desc, c.claim_id)
      from (
        select c.* from app_private.claims_to_review() as c
        where c.user_id = claim.user_id and c.claim_id <> claim.claim_id
        order by c.created_at desc, c.claim_id limit most
      ) as c), '[]'),
    'others', coalesce((
      select jsonb_agg(app_private.earlier_claim(c) order by c.created_at desc, c.claim_id)
      from (
        select c.* from app_private.claims_to_review() as c
        where c.org_uri = claim.org_uri and c.user_id <> claim.user_id
        order by c.created_at desc, c.claim_id limit most
      ) as c), '[]'),
    'othersTotal', (
      select count(*) from app_private.claims_to_review() as c
      where c.org_uri = claim.org_uri and c.user_id <> claim.user_id));
end
$$;
comment on function app_private.claim_to_review is
  'A claim with everything that its reviewer looks up: the person and their other claims, the organization and similar ones, '
  'who else claims it, the steps so far, and what the person who is calling may decide. Errors: 403 permission_required, 404 '
  'claim_not_found.';

create function app_private.claims_in_brief(claim_ids uuid[]) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app_private.require_reviewer();
  return (
    select coalesce(jsonb_agg(
        app_private.queued_claim(c) || jsonb_build_object('role', c.granted_role, 'warnings', to_jsonb(app_private.approval_warnings(c)))
        order by c.created_at, c.claim_id), '[]')
    from app_private.claims_to_review() as c
    where c.claim_id = any (claim_ids));
end
$$;
comment on function app_private.claims_in_brief is
  'The given claims as the queue shows them, if the person who is calling may review them, with the warnings of their '
  'approval. Errors: 403 permission_required.';

create function app_private.has_decided_so(
  claim_id uuid, action app_public.claim_review_action, notes text, role app_public.organization_role
) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select exists (
    select
    from app_private.claims_to_review() as c
    join app_public.users as u on u.user_id = c.reviewed_by
    where c.claim_id = has_decided_so.claim_id and lower(u.email) = lower(app_private.current_person())
      and c.status = (case action when 'approve' then 'approved' when 'reject' then 'rejected' end)::app_public.organization_claim_status
      and c.review_notes is not distinct from app_private.trimmed(notes)
      and (action = 'reject' or coalesce(c.asked_role, c.granted_role) = coalesce(role, app_private.usual_role())));
end;
comment on function app_private.has_decided_so is
  'Whether the person who is calling has already decided a claim in exactly this way: when a form is sent twice, nothing is '
  'left to do the second time.';

create function app_private.claims_to_organization(org_uri text, "limit" integer, "offset" integer)
returns app_public.organization_claim_page
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  reviewer constant text := app_private.current_person();
  sees_all constant boolean := app_private.has_platform_permission(reviewer, 'claims:review');
  page app_public.organization_claim_page;
begin
  perform app_private.require_own_identity(reviewer);
  -- As in organization_claims_for_review.
  if not sees_all and org_uri <> all (app_private.organizations_reviewed(reviewer, sees_all)) then
    perform app_private.refuse('permission_required');
  end if;
  select count(*) into page.total from app_private.claims_reviewed(sees_all, array[org_uri], null) as c
  where c.org_uri = claims_to_organization.org_uri;
  page.claims := array(
    select app_private.claim_item(shown)
    from (
      -- Details are looked up only for the claims on the page.
      select c.claim_id from app_private.claims_reviewed(sees_all, array[org_uri], null) as c
      where c.org_uri = claims_to_organization.org_uri
      order by app_private.review_status(c.status) <> 'pending', c.created_at desc, c.claim_id desc
      limit "limit" offset "offset") as found
    join app_public.organization_claims as shown on shown.claim_id = found.claim_id
    order by app_private.review_status(shown.status) <> 'pending', shown.created_at desc, shown.claim_id desc);
  return page;
end
$$;
comment on function app_private.claims_to_organization is
  'Claims to an organization, for a person who may review them and is calling: waiting ones first, then newest first. '
  'Errors: 403 permission_required.';
