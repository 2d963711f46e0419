// One port for several servers of this process: Node accepts one new connection of each in an iteration of
// its event loop. Iterations are long when there is much to do, so a client that opened hundreds of
// connections would keep those of everybody else waiting for seconds.
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, ListenOptions, Server } from "node:net";

/** Systems on which only one socket can have a port, and Linux before 3.9. */
const UNSHARED = ["ENOTSUP", "ENOPROTOOPT"];

/**
 * Has all of them listen on one port where the system spreads connections over them (Linux and FreeBSD, for
 * example), and only the first one elsewhere. No other process may have the port.
 * @param port 0 for any that is free
 * @returns the port
 * @throws the error from listen, such as EADDRINUSE
 */
export async function listenTogether(
  [first, ...others]: readonly [Server, ...Server[]],
  port: number,
  host: string,
): Promise<number> {
  if (port !== 0) await requireFree(port, host);
  try {
    await listen(first, { port, host, reusePort: true });
  } catch (error) {
    if (!UNSHARED.includes((error as NodeJS.ErrnoException).code!)) throw error;
    await listen(first, { port, host });
    return portOf(first);
  }
  const taken = portOf(first);
  try {
    for (const each of others) await listen(each, { port: taken, host, reusePort: true });
  } catch (error) {
    // A caller who gets an error does not come back to close the servers that listen.
    for (const each of [first, ...others]) each.close();
    throw error;
  }
  return taken;
}

/** Sharing a port would succeed even if another process has it, such as a second one of this service. */
async function requireFree(port: number, host: string): Promise<void> {
  const server = createServer();
  await listen(server, { port, host });
  const closed = once(server, "close");
  server.close();
  await closed;
}

async function listen(server: Server, options: ListenOptions): Promise<void> {
  const listening = once(server, "listening");
  server.listen(options);
  await listening;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
