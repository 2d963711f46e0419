-- Each named graph says of itself which update changed it last, and the database knows what it should say.

create table app_private.graph_marks (
  name text primary key,
  turn bigint not null
);
comment on table app_private.graph_marks is
  'One row a named graph, by the kind of record or the list in it, once it is known to say which update changed it last.';
comment on column app_private.graph_marks.turn is
  'That update, as the store was seen to show it; a graph that says less was set back, or replaced by an earlier edition.';
alter table app_private.graph_marks enable row level security;

-- A list is written whole, so that it is lost exactly when its graph does not say that number, or says none.
alter table app_private.graph_references
  -- squawk-ignore ban-drop-column
  drop column turn,
  -- squawk-ignore ban-drop-column
  drop column triples;

comment on column app_private.graph_rebuilds.turn is
  'The update that replaced the whole graph; a store in which the graph says less has lost all of it.';
