import pg from "pg";
import { DatabaseUnavailable } from "./unavailable.ts";

/** The parts of a node-postgres connection that its types do not declare. */
type Wire = NodeJS.EventEmitter & {
  stream: NodeJS.WritableStream & { destroy: () => void };
  connect: (port: number | string, host?: string) => void;
  requestSsl: () => void;
  cancel: (processId: number, secretKey: number) => void;
};
type Target = pg.ClientBase & {
  host: string;
  port: number;
  processID: number;
  secretKey: number;
  connectionParameters: { ssl: unknown };
  sslNegotiation: string;
};

/**
 * Asks the server to cancel the statement that runs on a connection, by PostgreSQL's protocol: over a second
 * connection, with the process id and secret key that the server gave to the first. This works through a
 * pooler and needs no privilege. Resolves when the server has closed the second connection, which it does
 * after passing the cancel on: from then on no cancel is in flight that could hit a later statement.
 */
export function cancelStatement(client: pg.ClientBase, patienceMs: number): Promise<void> {
  const { host, port, processID, secretKey, connectionParameters, sslNegotiation } = client as Target;
  const { ssl } = connectionParameters;
  const wire = new pg.Connection({ ssl, sslNegotiation } as pg.ConnectionConfig) as unknown as Wire;
  const order = () => wire.cancel(processID, secretKey);
  return new Promise((done, failed) => {
    const impatience = setTimeout(() => {
      wire.stream.destroy();
      failed(new DatabaseUnavailable());
    }, patienceMs);
    wire.once("connect", () => {
      if (!ssl) order();
      else if (sslNegotiation !== "direct") wire.requestSsl();
    });
    wire.once("sslconnect", order);
    wire.on("error", failed);
    wire.once("end", () => {
      clearTimeout(impatience);
      done();
    });
    if (host.startsWith("/")) wire.connect(`${host}/.s.PGSQL.${port}`);
    else wire.connect(port, host);
  });
}
