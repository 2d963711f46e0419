-- Choosing from lists: organizations, people groups and countries are found by parts of their names.

-- The names among which somebody chooses, in their order, and the letters that were typed so far.
create index organizations_in_order on app_public.organizations (app_private.fold(name), org_uri) where status = 'active';
create index organizations_by_part on app_public.organizations
  using gin (app_private.fold(name || ' ' || coalesce(domain, '')) public.gin_trgm_ops);
create index people_groups_in_order on app_public.people_groups (app_private.fold(name), rop3);
create index people_groups_by_part on app_public.people_groups
  using gin (app_private.fold(rop3 || ' ' || name) public.gin_trgm_ops);

create table app_public.country_names (
  name text primary key,
  alpha2 text not null references app_public.countries
);
comment on table app_public.country_names is
  E'@behavior -*\nWhat countries are called besides the names of ISO 3166-1.';
create index on app_public.country_names (alpha2);
alter table app_public.country_names enable row level security;

insert into app_public.country_names (alpha2, name) values
  ('AE', 'UAE'), ('AG', 'Antigua & Barbuda'), ('BA', 'Bosnia'), ('BA', 'Bosnia & Herzegovina'), ('BN', 'Brunei'),
  ('BL', 'St. Barthélemy'), ('BQ', 'Caribbean Netherlands'), ('CC', 'Cocos Islands'), ('CD', 'Congo - Kinshasa'),
  ('CD', 'DR Congo'), ('CD', 'Democratic Republic of Congo'), ('CD', 'Zaire'), ('CG', 'Congo - Brazzaville'),
  ('CG', 'Republic of the Congo'), ('CI', 'Ivory Coast'), ('CN', 'People''s Republic of China'), ('CV', 'Cape Verde'),
  ('CZ', 'Czech Republic'), ('FM', 'Micronesia'), ('GB', 'UK'), ('GB', 'Great Britain'), ('GB', 'Britain'),
  ('GB', 'United Kingdom of Great Britain and Northern Ireland'),
  ('GS', 'South Georgia & South Sandwich Islands'), ('HK', 'Hong Kong SAR China'), ('HM', 'Heard & McDonald Islands'),
  ('IR', 'Islamic Republic of Iran'), ('KN', 'St. Kitts & Nevis'), ('KP', 'Democratic People''s Republic of Korea'),
  ('KR', 'Republic of Korea'), ('LA', 'Lao People''s Democratic Republic'), ('LC', 'St. Lucia'), ('MD', 'Republic of Moldova'),
  ('MF', 'St. Martin'), ('MK', 'Macedonia'), ('MM', 'Burma'), ('MO', 'Macau'), ('MO', 'Macao SAR China'),
  ('NL', 'Holland'), ('PM', 'St. Pierre & Miquelon'), ('PN', 'Pitcairn Islands'), ('PS', 'Palestine'),
  ('PS', 'Palestinian Territories'), ('RU', 'Russia'), ('SH', 'St. Helena'), ('SJ', 'Svalbard & Jan Mayen'),
  ('ST', 'São Tomé & Príncipe'), ('SX', 'Sint Maarten'), ('SY', 'Syrian Arab Republic'), ('SZ', 'Swaziland'),
  ('TC', 'Turks & Caicos Islands'), ('TL', 'East Timor'), ('TR', 'Turkey'), ('TT', 'Trinidad & Tobago'),
  ('TW', 'Taiwan, Province of China'), ('TZ', 'United Republic of Tanzania'), ('UM', 'U.S. Outlying Islands'),
  ('US', 'United States of America'), ('US', 'U.S.'), ('US', 'U.S.A.'), ('VA', 'Vatican'), ('VA', 'Vatican City'),
  ('VC', 'St. Vincent & Grenadines'), ('VN', 'Viet Nam'), ('WF', 'Wallis & Futuna');
