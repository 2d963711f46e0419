import type pg from "pg";

/** The database that the migrations and rules in this tree create, through its two logins. */
export type Logins = {
  /** the role that owns the schema */
  owner: pg.Pool;
  /** the server's login, which sees as much of the catalog as an API role may */
  server: pg.Pool;
};

/** A committed file that is generated from the database, all of it or what is between its markers. */
export type Generated = {
  /** from the root of the repository */
  file: string;
  /**
   * The text that the file should have.
   * @param written the text that it has; empty if there is no such file yet
   */
  text: (logins: Logins, written: string) => Promise<string>;
};
