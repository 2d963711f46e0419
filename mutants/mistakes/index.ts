import type { Mistake } from "../mistake.ts";
import { ANSWERS_IN_PIECES } from "./answers-in-pieces.ts";
import { AT_THE_DOORS } from "./at-the-doors.ts";
import { BY_CLAIM } from "./rules-by-claim.ts";
import { CHURCH_FILES } from "./church-files.ts";
import { CHURCH_PAGES } from "./church-pages.ts";
import { CHURCH_READINGS } from "./church-readings.ts";
import { CHURCH_VALUES } from "./church-values.ts";
import { DATABASE_PARTS } from "./database-parts.ts";
import { IDENTITY_BORDERS } from "./identity-borders.ts";
import { NAMES_AND_STORES } from "./names-and-stores.ts";
import { HELD_OPEN } from "./held-open.ts";
import { LET_IN } from "./let-in.ts";
import { BLANK_SEARCHES } from "./blank-searches.ts";
import { READ_BACK } from "./read-back.ts";
import { ROTATED_ONCE } from "./rotated-once.ts";
import { OWNERS_WORK } from "./owners-work.ts";
import { PAGES_IN_TROUBLE } from "./pages-in-trouble.ts";
import { PLANS_COMPARED } from "./plans-compared.ts";
import { POSTGRES_LENT } from "./postgres-lent.ts";
import { SERVER_SETTINGS } from "./server-settings.ts";
import { SETTINGS_MENDED } from "./settings-mended.ts";
import { SERVER_TURNS } from "./server-turns.ts";
import { DEMO } from "./demo.ts";
import { DEPLOYED } from "./deployed.ts";
import { DEPLOYED_ALIKE } from "./deployed-alike.ts";
import { DESK } from "./desk.ts";
import { DRAWN } from "./drawn.ts";
import { DRAWN_AGAIN } from "./drawn-a.ts";
import { DRAWN_AT_LARGE } from "./drawn-b.ts";
import { DRAWN_BY_SEED } from "./drawn-c.ts";
import { DRAWN_ONCE_MORE } from "./drawn-d.ts";
import { INTERPLAY } from "./desk-interplay.ts";
import { DESK_WORDS } from "./desk-words.ts";
import { SCRIPTS } from "./desk-scripts.ts";
import { EMBEDDED_POOL } from "./embedded-pool.ts";
import { ANSWERS } from "./doors-answers.ts";
import { GAPS_IN_CHURCHES } from "./gaps-churches.ts";
import { GAPS_IN_IMPORTS } from "./gaps-imports.ts";
import { GAPS_IN_COUNTS } from "./gaps-counts.ts";
import { GAPS_IN_MAILS } from "./gaps-mails.ts";
import { GAPS_IN_MALFORMED } from "./gaps-malformed.ts";
import { GAPS_IN_RULES } from "./gaps-rules.ts";
import { GOING_ON } from "./doors-going-on.ts";
import { KEPT } from "./doors-kept.ts";
import { DOORS_SAID } from "./doors-said.ts";
import { GRAPH_SLIPS } from "./graph-slips.ts";
import { UNKNOWN_IN_GRAPH } from "./graph-unknown.ts";
import { VOCABULARY } from "./vocabulary.ts";
import { OVERLOOKED_GRAPH } from "./graph-overlooked.ts";
import { GRAPHQL } from "./doors-graphql.ts";
import { PARTNERS } from "./doors-partners.ts";
import { RESOURCES } from "./doors-resources.ts";
import { REFERENCE_READ } from "./reference-read.ts";
import { RESULTS_READ } from "./results-read.ts";
import { REST } from "./doors-rest.ts";
import { EMBEDDED_STORE } from "./embedded-store.ts";
import { EMBEDDED_STREAM } from "./embedded-stream.ts";
import { THREADS_OF_STORE } from "./embedded-threads.ts";
import { EMBEDDED_KEPT } from "./embedded-kept.ts";
import { STORE_LET_GO } from "./store-let-go.ts";
import { STORE_LOSSES } from "./store-losses.ts";
import { FUSEKI } from "./fuseki-scripts.ts";
import { GRAPH } from "./graph.ts";
import { GRAPHQL_ANSWERS } from "./graphql-answers.ts";
import { GRAPHQL_ONCE } from "./graphql-once.ts";
import { GRAPHQL_TOLD } from "./graphql-told.ts";
import { GRAPH_BELIEVED } from "./graph-believed.ts";
import { GRAPH_IN_PART } from "./graph-in-part.ts";
import { GRAPH_NAMES } from "./graph-names.ts";
import { NOT_BELIEVED } from "./not-believed.ts";
import { NOTES } from "./graph-noted.ts";
import { GRAPH_PARTS } from "./graph-parts.ts";
import { SAID } from "./graph-said.ts";
import { STORES } from "./graph-stores.ts";
import { UNSPOKEN_GRAPH } from "./graph-unspoken.ts";
import { JAVA_SERVERS } from "./java-servers.ts";
import { ONTOLOGY_TEXTS } from "./ontology.ts";
import { OPERATOR } from "./operator.ts";
import { OPERATOR_GRAPH } from "./operator-graph.ts";
import { GENERATING } from "./generating.ts";
import { OPERATOR_SLIPS } from "./operator-slips.ts";
import { OPERATOR_WORDS } from "./operator-words.ts";
import { OPERATOR_TOOL } from "./operator-tool.ts";
import { HOSTILE } from "./hostile.ts";
import { IDENTITY } from "./identity.ts";
import { IDENTITY_KEYS } from "./identity-keys.ts";
import { MAIL_TEXTS } from "./mail-texts.ts";
import { METRICS } from "./metrics.ts";
import { MIGRATING } from "./migrating.ts";
import { PROCESS } from "./process-parts.ts";
import { PULSES } from "./process-pulse.ts";
import { PULSE_OF_WAYS } from "./pulse-ways.ts";
import { FORMS_SENT } from "./page-forms.ts";
import { PAGE_PARTS } from "./page-parts.ts";
import { PAGE_SLIPS } from "./page-slips.ts";
import { PAGES_COMPARED } from "./pages-compared.ts";
import { PAGES_DRAWN } from "./pages-drawn.ts";
import { PLACES_DRAWN } from "./places-drawn.ts";
import { PAGES_FRAME } from "./pages-frame.ts";
import { PAGES_LISTS } from "./pages-lists.ts";
import { CLAIMS_READ } from "./claims-read.ts";
import { LATE_BODIES } from "./late-bodies.ts";
import { STALE_MAILS } from "./stale-mails.ts";
import { LINES_DRAWN } from "./lines-drawn.ts";
import { LISTS_ORDERED } from "./lists-ordered.ts";
import { LISTS_READ } from "./lists-read.ts";
import { PAGES_READ } from "./pages-read.ts";
import { PAGES_TOLD } from "./pages-told.ts";
import { RACES } from "./races.ts";
import { REPLICA_PARTS } from "./replica-parts.ts";
import { REPLICAS } from "./replicas.ts";
import { RECORDS_DESCRIBED } from "./records-described.ts";
import { CALLERS } from "./rules-callers.ts";
import { CATALOG_ENTRIES } from "./rules-catalog.ts";
import { CHURCHES } from "./rules-churches.ts";
import { CLAIMS } from "./rules-claims.ts";
import { FEED } from "./rules-feed.ts";
import { REVIEWERS_TOLD } from "./reviewers-told.ts";
import { GRAPH_RULES } from "./rules-graph.ts";
import { MEMBERS } from "./rules-members.ts";
import { PEOPLE } from "./rules-people.ts";
import { PROOFS } from "./rules-proofs.ts";
import { QUEUES } from "./rules-queue.ts";
import { RECORDS } from "./rules-records.ts";
import { SPARQL_AT_ONCE } from "./sparql-at-once.ts";
import { SPARQL_BOUNDS } from "./sparql-bounds.ts";
import { SPARQL_COSTS } from "./sparql-costs.ts";
import { SPARQL_ENDABLE } from "./sparql-endable.ts";
import { SPARQL_PLANS } from "./sparql-plans.ts";
import { SPARQL_KEPT } from "./sparql-kept.ts";
import { SPARQL_REQUESTS } from "./sparql-requests.ts";
import { SEARCHES } from "./rules-searches.ts";
import { STANDING } from "./rules-standing.ts";
import { TOLD } from "./rules-told.ts";
import { OVERSEEN } from "./rules-overseen.ts";
import { UNSPOKEN_RULES } from "./rules-unspoken.ts";
import { SIGN_IN } from "./sign-in.ts";
import { SERVER } from "./server.ts";
import { DOORS } from "./server-doors.ts";
import { BODIES_READ } from "./server-bodies.ts";
import { FLOODS } from "./server-floods.ts";
import { LIVE } from "./server-live.ts";
import { TAKEN_AT_DOORS } from "./taken-at-doors.ts";
import { TABLE_SHAPES } from "./table-shapes.ts";
import { TABLES } from "./tables.ts";
import { UNSPOKEN } from "./unspoken.ts";
import { UNSPOKEN_BORDERS } from "./unspoken-borders.ts";
import { VOUCHED_FOR } from "./vouched-for.ts";
import { WORKER } from "./worker.ts";
import { UNSPOKEN_WORKER } from "./worker-unspoken.ts";
import { WORKER_MAIN } from "./worker-main.ts";
import { STEPS } from "./worker-steps.ts";
import { SETTINGS } from "./settings.ts";
import { SLIPS_OF_AUTHORITY } from "./slips-authority.ts";
import { DESCRIBED } from "./doors-described.ts";
import { AGREED } from "./rest-agreed.ts";
import { ROUTES } from "./doors-routes.ts";
import { SERVER_SLIPS } from "./server-slips.ts";
import { SLIPS_OF_ENDS } from "./slips-held.ts";
import { SLIPS_OF_LISTS } from "./slips-lists.ts";
import { PEOPLE_ERASED } from "./people-erased.ts";
import { SLIPS_OF_PEOPLE } from "./slips-people.ts";
import { MORE_SLIPS } from "./slips-rest.ts";
import { SLIPS_IN_RULES } from "./slips-rules.ts";
import { SLIPS_IN_SQL } from "./slips-sql.ts";
import { BARE } from "./sql-bare.ts";
import { SQL_FILES } from "./sql-files.ts";
import { SAID_IN_SQL } from "./sql-said.ts";
import { SHOWN_AND_HIDDEN } from "./shown-and-hidden.ts";
import { SETTLED } from "./sql-settled.ts";
import { SLIPS_OF_SQL } from "./sql-borders.ts";
import { SLIPS_OF_VALUES } from "./slips-values.ts";
import { TASKS } from "./worker-tasks.ts";
import { WATCH } from "./worker-watch.ts";
import { SAMPLED_PARTS } from "./sampled-parts.ts";
import { SERVER_PARTS } from "./server-parts.ts";
import { START } from "./start.ts";
import { START_PARTS } from "./start-parts.ts";
import { WORKER_NOTED } from "./worker-noted.ts";
import { LIVE_FEEDS } from "./live-feeds.ts";
import { LIVE_KEPT } from "./live-kept.ts";
import { STATEMENTS } from "./statements.ts";
import { PROCESS_TOLD } from "./process-told.ts";
import { OPERATOR_CONTEXT } from "./operator-context.ts";
import { TOLD_AND_LEFT } from "./told-and-left.ts";
import { TRACES } from "./tracing.ts";
import { WORKER_PARTS } from "./worker-parts.ts";
import { WORKER_SLIPS } from "./worker-slips.ts";
import { UNNOTICED } from "./unnoticed.ts";
import { UNSEEN } from "./unseen.ts";
import { SAMPLED_REST } from "./sampled-rest.ts";
import { SAMPLED_DOORS } from "./sampled-doors.ts";
import { SAMPLED_RULES } from "./sampled-rules.ts";
import { GAPS_KEPT } from "./gaps-kept.ts";
import { GAPS_OF_WORKER } from "./gaps-worker.ts";
import { MENDED_BORDERS } from "./mended-borders.ts";
import { SAMPLED_GRAPH } from "./sampled-graph.ts";
import { WIRING } from "./wiring.ts";
import { GAPS_OF_GRAPH } from "./gaps-graph.ts";
import { GAPS_OF_OPERATORS } from "./gaps-operator.ts";
import { SAMPLED_GUARDS } from "./sampled-guards.ts";

export const MISTAKES: readonly Mistake[] = [
  ...MEMBERS,
  ...BY_CLAIM,
  ...CLAIMS,
  ...PROOFS,
  ...QUEUES,
  ...RECORDS,
  ...GRAPH_RULES,
  ...FEED,
  ...REVIEWERS_TOLD,
  ...CATALOG_ENTRIES,
  ...CALLERS,
  ...PEOPLE,
  ...MIGRATING,
  ...OPERATOR_CONTEXT,
  ...PROCESS_TOLD,
  ...PLANS_COMPARED,
  ...DATABASE_PARTS,
  ...IDENTITY_BORDERS,
  ...POSTGRES_LENT,
  ...SERVER_SETTINGS,
  ...SERVER_TURNS,
  ...DEMO,
  ...RECORDS_DESCRIBED,
  ...CHURCHES,
  ...CHURCH_VALUES,
  ...CHURCH_FILES,
  ...CHURCH_PAGES,
  ...ANSWERS_IN_PIECES,
  ...AT_THE_DOORS,
  ...CHURCH_READINGS,
  ...WATCH,
  ...STORE_LET_GO,
  ...STORE_LOSSES,
  ...EMBEDDED_KEPT,
  ...WORKER,
  ...WORKER_MAIN,
  ...STEPS,
  ...UNSPOKEN_WORKER,
  ...RACES,
  ...GRAPH,
  ...GRAPHQL_ANSWERS,
  ...GRAPHQL_ONCE,
  ...GRAPHQL_TOLD,
  ...GRAPH_PARTS,
  ...GRAPH_BELIEVED,
  ...GRAPH_IN_PART,
  ...GRAPH_NAMES,
  ...STORES,
  ...FUSEKI,
  ...SAID,
  ...NOTES,
  ...UNSPOKEN_GRAPH,
  ...EMBEDDED_STORE,
  ...EMBEDDED_POOL,
  ...EMBEDDED_STREAM,
  ...SERVER,
  ...SIGN_IN,
  ...DOORS,
  ...LIVE,
  ...FLOODS,
  ...BODIES_READ,
  ...REST,
  ...RESOURCES,
  ...PARTNERS,
  ...GRAPHQL,
  ...ANSWERS,
  ...DESK,
  ...SCRIPTS,
  ...REPLICAS,
  ...PULSES,
  ...PULSE_OF_WAYS,
  ...PROCESS,
  ...METRICS,
  ...HOSTILE,
  ...IDENTITY,
  ...IDENTITY_KEYS,
  ...REPLICA_PARTS,
  ...MAIL_TEXTS,
  ...SETTINGS,
  ...TASKS,
  ...OPERATOR,
  ...OPERATOR_TOOL,
  ...OPERATOR_GRAPH,
  ...STANDING,
  ...PEOPLE_ERASED,
  ...SLIPS_OF_PEOPLE,
  ...SLIPS_OF_LISTS,
  ...SLIPS_OF_ENDS,
  ...ROUTES,
  ...AGREED,
  ...DESCRIBED,
  ...SERVER_SLIPS,
  ...SLIPS_OF_AUTHORITY,
  ...SLIPS_OF_VALUES,
  ...SLIPS_IN_SQL,
  ...SLIPS_IN_RULES,
  ...SAID_IN_SQL,
  ...BARE,
  ...SQL_FILES,
  ...SETTLED,
  ...SLIPS_OF_SQL,
  ...TOLD,
  ...TABLES,
  ...PAGES_LISTS,
  ...PAGE_PARTS,
  ...FORMS_SENT,
  ...TABLE_SHAPES,
  ...SEARCHES,
  ...PAGE_SLIPS,
  ...PAGES_COMPARED,
  ...PAGES_DRAWN,
  ...PAGES_FRAME,
  ...OVERSEEN,
  ...UNSPOKEN_RULES,
  ...UNSPOKEN,
  ...UNSPOKEN_BORDERS,
  ...SERVER_PARTS,
  ...SAMPLED_PARTS,
  ...START,
  ...STATEMENTS,
  ...TRACES,
  ...WORKER_PARTS,
  ...DEPLOYED,
  ...DEPLOYED_ALIKE,
  ...INTERPLAY,
  ...CLAIMS_READ,
  ...PAGES_READ,
  ...LISTS_READ,
  ...SHOWN_AND_HIDDEN,
  ...LATE_BODIES,
  ...STALE_MAILS,
  ...LINES_DRAWN,
  ...LISTS_ORDERED,
  ...SPARQL_AT_ONCE,
  ...SPARQL_BOUNDS,
  ...SPARQL_COSTS,
  ...SPARQL_ENDABLE,
  ...SPARQL_PLANS,
  ...SPARQL_KEPT,
  ...SPARQL_REQUESTS,
  ...RESULTS_READ,
  ...REFERENCE_READ,
  ...PAGES_TOLD,
  ...GENERATING,
  ...OPERATOR_SLIPS,
  ...OPERATOR_WORDS,
  ...GRAPH_SLIPS,
  ...UNKNOWN_IN_GRAPH,
  ...VOCABULARY,
  ...OVERLOOKED_GRAPH,
  ...ONTOLOGY_TEXTS,
  ...WORKER_SLIPS,
  ...GOING_ON,
  ...DOORS_SAID,
  ...KEPT,
  ...THREADS_OF_STORE,
  ...JAVA_SERVERS,
  ...START_PARTS,
  ...WORKER_NOTED,
  ...LIVE_FEEDS,
  ...LIVE_KEPT,
  ...MORE_SLIPS,
  ...UNNOTICED,
  ...UNSEEN,
  ...WIRING,
  ...SAMPLED_DOORS,
  ...SAMPLED_GRAPH,
  ...SAMPLED_REST,
  ...SAMPLED_RULES,
  ...GAPS_IN_CHURCHES,
  ...GAPS_IN_IMPORTS,
  ...GAPS_IN_COUNTS,
  ...GAPS_IN_MAILS,
  ...GAPS_IN_MALFORMED,
  ...GAPS_IN_RULES,
  ...GAPS_KEPT,
  ...GAPS_OF_WORKER,
  ...MENDED_BORDERS,
  ...GAPS_OF_GRAPH,
  ...GAPS_OF_OPERATORS,
  ...DRAWN,
  ...DRAWN_AGAIN,
  ...DRAWN_AT_LARGE,
  ...DRAWN_BY_SEED,
  ...DRAWN_ONCE_MORE,
  ...SETTINGS_MENDED,
  ...TAKEN_AT_DOORS,
  ...DESK_WORDS,
  ...SAMPLED_GUARDS,
  ...OWNERS_WORK,
  ...NAMES_AND_STORES,
  ...PLACES_DRAWN,
  ...ROTATED_ONCE,
  ...BLANK_SEARCHES,
  ...READ_BACK,
  ...HELD_OPEN,
  ...LET_IN,
  ...TOLD_AND_LEFT,
  ...NOT_BELIEVED,
  ...PAGES_IN_TROUBLE,
  ...VOUCHED_FOR,
];
