-- Totals by accelerator and by country as well, alone and combined. What is noted between this migration and the rules
-- comes from the triggers of before and has no lists; the rules count anew what they find so.

alter table app_private.record_totals
  add column accelerator text not null default '',
  add column country text not null default '',
  drop constraint record_totals_pkey,
  -- The table has a row a combination, so building the index takes no time.
  -- squawk-ignore adding-serial-primary-key-field, constraint-missing-not-valid
  add constraint record_totals_pkey primary key (kind, org_uri, country, accelerator, status);
comment on table app_private.record_totals is
  'Records of each kind and status by organization, accelerator and country, up to the last fold; an empty text stands for '
  'all of them.';
create index record_totals_without_accelerator on app_private.record_totals (kind, org_uri, country, status)
  where accelerator = '';

alter table app_private.record_total_changes
  add column accelerators text[],
  add column countries text[];
