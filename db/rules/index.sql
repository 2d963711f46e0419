-- The rules of the database, applied whole on every `npm run migrate`, in this order, in one transaction.
-- Change a rule in its file; whatever an earlier version left behind is dropped first.

\ir roles.sql
\ir reset.sql
\ir leakproof.sql
\ir errors.sql
\ir validation.sql
\ir identity.sql
\ir limits.sql
\ir permissions.sql
\ir membership.sql
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
\ir domains.sql
\ir free-mail-domains.sql
\ir organizations.sql
\ir members.sql
\ir platform-users.sql
\ir organization-claims.sql
\ir claim-review.sql
\ir mail.sql
\ir churches.sql
\ir trail.sql
\ir church-inputs.sql
\ir church-conditions.sql
\ir church-search.sql
\ir church-answers.sql
\ir grants.sql
