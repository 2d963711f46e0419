-- The rules of the database, applied whole on every `npm run migrate`, in this order, in one transaction.
-- Change a rule in its file; whatever an earlier version left behind is dropped first.
-- The order matters: views, policies, triggers and functions with a `begin atomic` or `return` body can only be created when
-- what they name is there already. PL/pgSQL looks names up when it runs, and may name what comes later;
-- names.sql, the last file, looks whether all of it has come.

-- Roles; the end of the rules before
\ir roles.sql
\ir reset.sql
\ir enforcement.sql
\ir leakproof.sql

-- What all rules build on: errors, settings, checks of input, who is calling and acting, requests, limits
\ir errors.sql
\ir settings.sql
\ir validation.sql
\ir identity.sql
\ir requests.sql
\ir limits.sql
\ir replicas.sql
\ir rights-relied-on.sql
\ir logins.sql
\ir editions.sql
\ir sessions.sql

-- Who may do what
\ir permissions.sql
\ir membership.sql

-- Records, the lists that they refer to, and the graph that shows both
\ir vocabulary.sql
\ir record-tables.sql
\ir graph-projection.sql
\ir graph-references.sql
\ir graph-store.sql
\ir status-history.sql
\ir record-totals.sql
\ir needs.sql
\ir commitments.sql
\ir engagement-claims.sql
\ir expiry.sql

-- Organizations and people
\ir domains.sql
\ir free-mail-domains.sql
\ir organizations.sql
\ir members.sql
\ir platform-users.sql

-- Claims to organizations, the feed of changes, and mail
\ir organization-claims.sql
\ir appointments.sql
\ir claim-review.sql
\ir changes.sql
\ir own-standing.sql
\ir address-proofs.sql
\ir outbox.sql
\ir mail.sql

-- For operators: histories, reasons, erasure
\ir trail.sql
\ir reasons.sql
\ir mentions.sql
\ir people.sql

-- For lists and pages: what is shown together, and found by words
\ir chain.sql
\ir choosing.sql
\ir claim-queue.sql
\ir search.sql
\ir links.sql

-- Churches
\ir churches.sql
\ir church-inputs.sql
\ir church-conditions.sql
\ir church-search.sql
\ir church-answers.sql

-- Who may call and read all this
\ir grants.sql

-- Whether all of it is there
\ir names.sql
