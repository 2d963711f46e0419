-- What stood in several places gets one: when a record is behind in the graph.

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
