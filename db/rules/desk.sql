-- What the service's own pages call besides the functions that REST and GraphQL use (server/pages): what the visitor
-- may do on the platform, and the state of the graph for operators.

create function app_private.own_permissions() returns text[]
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select array(
    select p.permission
    from app_public.users as u
    join app_private.platform_powers as p on p.user_id = u.user_id
    where lower(u.email) = lower(app_private.current_person())
    union
    -- Who manages members reviews the claims that are sent to them.
    select 'claims:review' where exists (select from app_private.managed_organizations(app_private.current_person()))
    order by 1);
end;
comment on function app_private.own_permissions is
  'The platform permissions of the person who is calling, with claims:review if they review any claims: the pages show links '
  'accordingly.';

create function app_private.graph_status_for_operators() returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- People who assign roles run the platform. Others must not see the reason and the refusals, which may contain addresses.
  perform app_private.require_platform_permission(app_private.current_person(), 'roles:assign');
  return app_private.graph_status();
end
$$;
comment on function app_private.graph_status_for_operators is
  'app_private.graph_status for the person who is calling, who needs the platform permission roles:assign. Errors: 403 '
  'permission_required.';
