-- Organizations, the people who act for them, and the claims of those who say they do.

create type app_public.organization_role as enum ('org_admin', 'org_contributor', 'org_member');
create type app_public.membership_status as enum ('active', 'suspended', 'revoked');
create type app_public.platform_role as enum ('admin', 'support');
create type app_public.organization_claim_status as enum
  ('submitted', 'pending_review', 'reviewed', 'approved', 'rejected');

create table app_public.organizations (
  org_uri text primary key,
  name text not null,
  type text,
  website text,
  domain text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table app_public.organizations is 'Mission organizations, by the URI that names them in the graph.';
create index on app_public.organizations (lower(domain));
create index on app_public.organizations (name);
alter table app_public.organizations enable row level security;

create table app_public.users (
  user_id uuid primary key default gen_random_uuid(),
  email text not null,
  first_name text,
  last_name text,
  created_at timestamptz not null default now()
);
comment on table app_public.users is 'People, by e-mail; addresses that differ only in case are one person.';
create unique index users_email_key on app_public.users (lower(email));
alter table app_public.users enable row level security;

create table app_public.memberships (
  org_uri text not null references app_public.organizations on update cascade,
  user_id uuid not null references app_public.users,
  role app_public.organization_role not null default 'org_member',
  status app_public.membership_status not null default 'active',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (org_uri, user_id)
);
comment on table app_public.memberships is 'Who belongs to which organization, in which role.';
create index on app_public.memberships (user_id);
alter table app_public.memberships enable row level security;

create table app_public.platform_roles (
  user_id uuid not null references app_public.users,
  role app_public.platform_role not null,
  granted_at timestamptz not null default now(),
  primary key (user_id, role)
);
comment on table app_public.platform_roles is 'Which people administer the platform itself.';
alter table app_public.platform_roles enable row level security;

-- What a role may do. The rows are written by db/rules/permissions.sql on every migrate.
create table app_public.organization_permissions (
  role app_public.organization_role not null,
  permission text not null,
  primary key (role, permission)
);
comment on table app_public.organization_permissions is 'What each role in an organization may do for it.';
alter table app_public.organization_permissions enable row level security;

create table app_public.platform_permissions (
  role app_public.platform_role not null,
  permission text not null,
  primary key (role, permission)
);
comment on table app_public.platform_permissions is 'What each platform role may do.';
alter table app_public.platform_permissions enable row level security;

create table app_public.organization_claims (
  claim_id uuid primary key default gen_random_uuid(),
  user_id uuid not null references app_public.users,
  org_uri text not null references app_public.organizations on update cascade,
  org_name text not null,
  is_new_org boolean not null default false,
  new_org_type text,
  new_org_website text,
  email_domain text not null,
  org_domain text,
  domain_match boolean not null default false,
  status app_public.organization_claim_status not null default 'submitted',
  routed_to text check (routed_to in ('organization', 'platform')),
  result_variant text check (result_variant in ('claimed', 'request-sent', 'manual-review', 'new-org')),
  granted_role app_public.organization_role,
  reviewed_by uuid references app_public.users,
  reviewed_at timestamptz,
  review_notes text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table app_public.organization_claims is 'A person''s assertion of belonging to an organization.';
create index on app_public.organization_claims (user_id);
create index on app_public.organization_claims (org_uri, user_id);
create index on app_public.organization_claims (reviewed_by);
create index on app_public.organization_claims (status, created_at desc, claim_id desc);
alter table app_public.organization_claims enable row level security;
