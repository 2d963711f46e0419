-- What each role is called and what it may do. These lists are the whole truth: every `npm run migrate` makes the
-- tables equal to them. To let a role do more or less, add or delete a line here, then migrate and run the tests.

-- Roles in an organization, in words.
with words (role, title, description) as (
  values
    ('org_admin', 'administrator', 'manages the organization and its members'),
    ('org_contributor', 'contributor', 'submits for the organization'),
    ('org_member', 'member', 'reads')
),
removed as (
  delete from app_public.organization_roles as r where r.role::text not in (select role from words)
)
insert into app_public.organization_roles as r (role, title, description)
select role::app_public.organization_role, title, description from words
on conflict (role) do update set title = excluded.title, description = excluded.description
where (r.title, r.description) <> (excluded.title, excluded.description);

-- What they may do.
with allowed (role, permission) as (
  values
    ('org_admin', 'needs:write'),
    ('org_admin', 'commitments:write'),
    ('org_admin', 'engagement_claims:write'),
    ('org_admin', 'members:manage'),
    ('org_admin', 'members:read'),
    ('org_admin', 'organization:manage'),

    ('org_contributor', 'needs:write'),
    ('org_contributor', 'commitments:write'),
    ('org_contributor', 'engagement_claims:write'),
    ('org_contributor', 'members:read'),

    ('org_member', 'members:read')
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
