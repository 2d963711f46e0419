-- More that the graph holds besides records: the organizations, and the two files that explain and check the rest.

-- The table has a row a list, so checking it takes no time.
alter table app_private.graph_references
  drop constraint graph_references_name_check,
  -- squawk-ignore constraint-missing-not-valid
  add constraint graph_references_name_check check (name in (
    'accelerators', 'people_groups', 'countries', 'organizations', 'ontology', 'shapes')),
  add column document text;
comment on column app_private.graph_references.document is
  'Turtle, where no table has the content. npm run migrate writes it, so that every worker puts the same into the graph, '
  'whichever version it is.';
insert into app_private.graph_references (name) values ('organizations'), ('ontology'), ('shapes');
