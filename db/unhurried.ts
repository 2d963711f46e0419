/**
 * In SQL, at the beginning of a transaction that waits for a graph store or a mail server: that takes longer than some databases
 * let a transaction wait, or last (from PostgreSQL 17).
 */
export const UNHURRIED = `set local idle_in_transaction_session_timeout = 0;
select set_config(name, '0', true) from pg_settings where name = 'transaction_timeout'`;
