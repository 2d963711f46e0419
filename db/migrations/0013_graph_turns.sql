-- Whose turn it is to write the graph; see graph/turns.ts.

create sequence app_private.graph_turns;
comment on sequence app_private.graph_turns is
  'Numbers the drains. The graph refuses the updates of a drain when a later one has written to it.';
