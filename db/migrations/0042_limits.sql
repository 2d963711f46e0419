-- What a key, or a person, may use up: counted here, for all processes of a service together.

-- Unlogged: writing it costs next to nothing, and what a crash would lose is a minute's count. The columns are those that
-- the library of server/identity/rate-limit.ts expects.
create unlogged table app_private.rate_limits (
  key text primary key,
  -- The library counts with numbers, and pg would give it a bigint as text; 2 billion requests a minute are enough.
  -- squawk-ignore prefer-bigint-over-int
  points integer not null,
  expire bigint not null
);
comment on table app_private.rate_limits is
  'What has been used of each limit in its current window: requests by API key, organization claims by key and by person. '
  'The server deletes what expired more than an hour ago.';
comment on column app_private.rate_limits.points is 'How much has been used, or handed out to server processes.';
comment on column app_private.rate_limits.expire is 'When the window ends, in milliseconds since 1970.';
alter table app_private.rate_limits enable row level security;

insert into app_private.settings (name, value, description) values
  ('claims_per_person_per_day', '100', 'How many organization claims one person may submit within a day.'),
  ('claims_per_key_per_day', '10000', 'How many organization claims may be submitted with one API key within a day.');
