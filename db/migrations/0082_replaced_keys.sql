-- A key is rotated once. Rotated again, it would pass on the expiry that the first rotation gave it, and leave two keys in its place.

alter table app_private.api_keys
  -- squawk-ignore adding-foreign-key-constraint -- keys are few
  add column replaced_by uuid references app_private.api_keys on delete set null;
comment on column app_private.api_keys.replaced_by is
  'The key that was issued in place of this one when it was rotated; null if it was not, or before this column.';
create index api_keys_replaced on app_private.api_keys (replaced_by) where replaced_by is not null;
