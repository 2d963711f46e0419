import type pg from "pg";

/** The database that the migrations and rules of this tree make, by way of its two logins. */
export type Logins = {
  /** the role that owns the schema */
  owner: pg.Pool;
  /** the server's, which sees of the catalog what an API role may */
  server: pg.Pool;
};

/** A committed file that is made from the database, all of it or what stands between its markers. */
export type Generated = {
  /** from the root of the repository */
  file: string;
  /**
   * The text that the file should have.
   * @param written the text that it has; empty where there is no such file yet
   */
  text: (logins: Logins, written: string) => Promise<string>;
};
