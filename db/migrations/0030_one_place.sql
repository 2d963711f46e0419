-- What stood in several places gets one: the words of a role, and when a record is behind in the graph.

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

-- A state that is kept and not worked out, so that readers need not know how revisions are compared.
alter table app_private.graph_records
  add check ((state = 'pending') = (revision <> synced_revision));

-- The worker's timer sweeps; a job that no task takes any more would stay in the queue for good.
do $$
begin
  if to_regproc('graphile_worker.remove_job') is not null then
    perform graphile_worker.remove_job('sweep');
  end if;
end
$$;
