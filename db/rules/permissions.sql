-- What each role may do. These lists are the whole truth: on every migrate the tables are made equal to them.
-- To let a role do more or less, add or delete a line here, run `npm run migrate`, and run the tests.

-- Roles in an organization.
with allowed (role, permission) as (
  values
    ('org_admin', 'needs:write'),
    ('org_admin', 'commitments:write'),
    ('org_admin', 'engagement_claims:write'),
    ('org_admin', 'members:manage'),
    ('org_admin', 'organization:manage'),

    ('org_contributor', 'needs:write'),
    ('org_contributor', 'commitments:write'),
    ('org_contributor', 'engagement_claims:write')

    -- org_member reads only.
),
removed as (
  delete from app_public.organization_permissions as p
  where (p.role::text, p.permission) not in (select role, permission from allowed)
)
insert into app_public.organization_permissions (role, permission)
select role::app_public.organization_role, permission from allowed
on conflict do nothing;

-- Roles on the platform.
with allowed (role, permission) as (
  values
    ('admin', 'claims:review'),
    ('admin', 'roles:assign'),
    ('admin', 'users:read'),

    ('support', 'claims:review'),
    ('support', 'users:read')
),
removed as (
  delete from app_public.platform_permissions as p
  where (p.role::text, p.permission) not in (select role, permission from allowed)
)
insert into app_public.platform_permissions (role, permission)
select role::app_public.platform_role, permission from allowed
on conflict do nothing;
