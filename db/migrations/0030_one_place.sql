-- What stood in several places gets one: the words of a role, when a record is behind in the graph, a list of statuses.

create table app_public.organization_roles (
  role app_public.organization_role primary key,
  title text not null,
  description text not null
);
comment on table app_public.organization_roles is
  'What each role in an organization is called. The rows are written by db/rules/permissions.sql on every migrate.';
comment on column app_public.organization_roles.title is 'One word, or a few, for a person: "administrator".';
comment on column app_public.organization_roles.description is 'What it does, to stand after its name and a colon.';
alter table app_public.organization_roles enable row level security;

-- A state that is kept and not worked out, so that readers need not know how revisions are compared. Rows of before are
-- checked by the next migration, without a lock that writers would wait for.
alter table app_private.graph_records
  add constraint graph_records_state check ((state = 'pending') = (revision <> synced_revision)) not valid;

-- The statuses of a membership, once; the table is as small as the number of role changes.
alter table app_private.role_history
  drop constraint role_history_status_check,
  -- squawk-ignore changing-column-type
  alter column status type app_public.membership_status using status::app_public.membership_status;

-- The worker's timer sweeps; a job that no task takes any more would stay in the queue for good.
do $$
begin
  if to_regproc('graphile_worker.remove_job') is not null then
    perform graphile_worker.remove_job('sweep');
  end if;
end
$$;
