-- The check of 0030 holds for the rows of before it, too.
update app_private.graph_records set state = 'pending' where state <> 'pending' and revision <> synced_revision;
alter table app_private.graph_records validate constraint graph_records_state;
