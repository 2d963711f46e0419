// Servers made up for a test, and clients of them, all of them closed after each test.
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "@jest/globals";

/** @returns what makes a server that listens, whose address it returns, and where clients to be closed are put */
export function listening(): {
  listen: (listener: RequestListener) => Promise<string>;
  clients: { close: () => void }[];
} {
  const servers: Server[] = [];
  const clients: { close: () => void }[] = [];
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });
  return {
    clients,
    async listen(listener) {
      const server = createServer(listener);
      servers.push(server);
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
  };
}
