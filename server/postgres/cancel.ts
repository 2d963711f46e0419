import pg from "pg";
import { DatabaseUnavailable } from "./unavailable.ts";

/** What node-postgres knows of a connection, beyond what its types tell. */
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
 * Asks the server to cancel what a connection is doing, as it is done in PostgreSQL's protocol: over a connection of
 * its own, by the two numbers that the server gave to the first. That works through a pooler, and needs no right.
 * Resolves when the server has closed that connection, which it does after it has passed the order on: from then on
 * no cancel is on its way any more that could hit a later statement.
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
