/**
 * SQL for the beginning of a transaction that waits for a graph store or a mail server, which can take longer
 * than some databases let a transaction be idle, or last (from PostgreSQL 17).
 */
export const UNHURRIED = `set local idle_in_transaction_session_timeout = 0;
select set_config(name, '0', true) from pg_settings where name = 'transaction_timeout'`;
