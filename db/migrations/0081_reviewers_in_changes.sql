-- The feed notes when a person comes to review more claims than before: what had happened to these is behind their cursor.

comment on table app_private.changes is
  'What has changed, in the order in which readers are told: one row for each record that a statement created, updated or '
  'deleted. A row without a kind is told to nobody: with a record_id, which is then a person''s, that person reviews more claims '
  'from here on; without one it is where the feed begins, before its first change.';
create index changes_of_reviewers on app_private.changes (record_id, position) where kind is null and record_id is not null;
