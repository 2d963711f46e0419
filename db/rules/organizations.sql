-- Organizations: which are public, what makes one well-formed, and what their administrators may change.

-- The search (choosing.sql) and the graph (graph-references.sql, worker/references.ts) show the same ones, by conditions of their own.
create policy read on app_public.organizations for select to api_read using (status = 'active');

create function app_private.validate_organization() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  new.name := app_private.trimmed(new.name);
  new.type := app_private.trimmed(new.type);
  new.website := app_private.trimmed(new.website);
  -- A value that was accepted under earlier rules must not prevent a change of something else.
  perform app_private.refuse_problems(
    case when new.org_uri is distinct from old.org_uri then app_private.http_uri_problems('orgUri', new.org_uri) else '[]' end
    || case when new.name is null or new.name is distinct from old.name
         then app_private.name_problems('name', new.name) else '[]' end
    || case when new.type is distinct from old.type
         then app_private.name_problems('type', new.type, required => false) else '[]' end
    || case when new.website is null or new.website is not distinct from old.website then '[]'
         else app_private.http_uri_problems('website', new.website) end
    || app_private.domain_problems('domain', new.domain));
  new.domain := app_private.normal_domain(new.domain);
  return new;
end
$$;
comment on function app_private.validate_organization is
  'Row trigger: trims texts, refuses malformed input with 400, and brings the domain into its normal form.';
create trigger validate before insert or update of org_uri, name, type, website, domain on app_public.organizations
  for each row execute function app_private.validate_organization();
create trigger touch before update on app_public.organizations
  for each row when (old.* is distinct from new.*) execute function app_private.touch();

create function app_private.propose_organization(name text, type text, website text, domain text)
returns app_public.organizations
language sql
set search_path = pg_catalog, pg_temp
begin atomic
  -- An opaque URI, because names change and URIs must not.
  insert into app_public.organizations (org_uri, name, type, website, domain, status)
  select (s.value #>> '{}') || '/org/' || gen_random_uuid(), propose_organization.name, propose_organization.type,
    propose_organization.website,
    case when not app_private.is_free_mail(app_private.normal_domain(propose_organization.domain))
      then propose_organization.domain end,
    'proposed'
  from app_private.settings as s where s.name = 'graph_data_url'
  returning *;
end;
comment on function app_private.propose_organization is
  'Adds a new organization under {GRAPH_DATA_URL}/org/, not yet public. A mail provider''s domain is not recorded as its own.';

create function app_private.require_read_committed() returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = 'invalid_transaction_state', message =
      'This decision depends on what other transactions commit while it waits, which a transaction with an older snapshot '
      'cannot see. Use READ COMMITTED.';
  end if;
end
$$;
comment on function app_private.require_read_committed is
  'Refuses a transaction that could not see what others committed while it waited: any that is not READ COMMITTED.';

create function app_private.lock_organization(org_uri text) returns app_public.organizations
language sql volatile
set search_path = pg_catalog, pg_temp
begin atomic
  -- Most decisions under this lock depend on the absence of rows, and no other lock would reveal that one was added.
  select app_private.require_read_committed();
  select * from app_public.organizations as o where o.org_uri = lock_organization.org_uri for no key update;
end;
comment on function app_private.lock_organization is
  'The organization, locked until the transaction ends, so that changes to its members happen one at a time.';

create function app_public.update_organization(
  org_uri text, admin_email text,
  name text default null, type text default null, website text default null, domain text default null
) returns app_public.organizations
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  updated app_public.organizations;
begin
  admin_email := app_private.acting_email(admin_email);
  perform app_private.refuse_problems(
    app_private.http_uri_problems('orgUri', org_uri)
    || app_private.email_problems('adminEmail', admin_email)
    || case
         when name is null or exists (
           select from app_public.organizations as o
           where o.org_uri = update_organization.org_uri and o.name = app_private.trimmed(update_organization.name)) then '[]'
         else app_private.name_problems('name', app_private.trimmed(name))
       end
    || case when num_nonnulls(name, type, website, domain) = 0
         then app_private.problem('name', 'is required unless type, website or domain is given') else '[]' end
    || app_private.own_domain_problems('domain', domain));
  perform app_private.name_actor(admin_email);
  -- The lock comes first, as in set_member_role.
  perform app_private.lock_organization(org_uri);
  perform app_private.authorize(org_uri, admin_email, 'organization:manage');
  update app_public.organizations as o set
    name = coalesce(update_organization.name, o.name),
    type = coalesce(update_organization.type, o.type),
    website = coalesce(update_organization.website, o.website),
    domain = coalesce(update_organization.domain, o.domain)
  where o.org_uri = update_organization.org_uri
  returning * into updated;
  return updated;
end
$$;
comment on function app_public.update_organization is
  E'@resultFieldName organization\n@actor admin_email\nChanges an organization''s name, type, website or domain. What is left out stays unchanged; an empty text '
  'clears type, website or domain. The person named by adminEmail must be allowed to manage the organization. '
  'Errors: 400 validation_failed, 403 not_your_identity, key_not_for_person, key_not_for_organization, membership_required, insufficient_role, insufficient_scope.';
