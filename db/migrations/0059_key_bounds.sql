-- Keys with bounds: for whom, as whom and from where a key may be used. What they mean is in db/rules/identity.sql.

-- An empty list would say at once that there is a bound and that there is none.
alter table app_private.api_keys
  add column organizations text[] check (cardinality(organizations) > 0 and array_position(organizations, null) is null),
  add column persons text[] check (cardinality(persons) > 0 and array_position(persons, null) is null),
  add column networks cidr[] check (cardinality(networks) > 0 and array_position(networks, null) is null);
comment on column app_private.api_keys.organizations is 'The only organizations that the key acts for; null: any.';
comment on column app_private.api_keys.persons is 'E-mail addresses of the only persons whom the key may name as acting; null: anybody.';
comment on column app_private.api_keys.networks is 'The only networks that the key may be used from; null: any.';

-- A table of its own, because a change of a key is announced to all servers and remembered in the trail.
create table app_private.key_uses (
  key_id uuid primary key references app_private.api_keys on delete cascade,
  last_used_at timestamptz not null
);
comment on table app_private.key_uses is 'When each key was last used, to the minute.';
alter table app_private.key_uses enable row level security;
