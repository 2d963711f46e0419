// A client of subscriptions, over either transport: what it was told, and how it ended.
import { createClient as createStream } from "graphql-sse";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";

type Told = { data?: Record<string, Record<string, unknown>> | null; errors?: readonly unknown[] };

export type TestSubscriber = {
  events: Told[];
  /** of the socket, or what ended the stream; undefined while it goes on */
  ended: () => { code?: number; reason?: string } | undefined;
  stop: () => void;
};

export type Subscribe = (
  url: string,
  key: string,
  /** or the name of one that is registered, or a text with the name of one of its operations */
  query: string | { documentId: string } | { query: string; operationName: string },
  variables?: Record<string, unknown>,
) => TestSubscriber;

// The protocol of WebSocket requires a text, and may be given an empty one.
const payload = (...[query, variables]: [Parameters<Subscribe>[2], Parameters<Subscribe>[3]]) => ({
  ...(typeof query === "string" ? { query } : { query: "", ...query }),
  ...(variables && { variables }),
});

export const overWebSocket: Subscribe = (url, key, query, variables) => {
  const events: Told[] = [];
  let ended: { code?: number; reason?: string } | undefined;
  const client = createClient({
    url: `${url.replace("http", "ws")}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${key}` },
    retryAttempts: 0,
  });
  client.subscribe(payload(query, variables), {
    next: (event) => void events.push(event as Told),
    error: (error) => {
      if (Array.isArray(error)) events.push({ errors: error as unknown[] });
      ended = error as { code?: number; reason?: string };
    },
    complete: () => (ended ??= {}),
  });
  return { events, ended: () => ended, stop: () => void client.dispose() };
};

export const overServerSentEvents: Subscribe = (url, key, query, variables) => {
  const events: Told[] = [];
  let ended: object | undefined;
  const client = createStream({
    url: `${url}/graphql`,
    headers: { authorization: `Bearer ${key}` },
    retryAttempts: 0,
  });
  client.subscribe(payload(query, variables), {
    next: (event) => void events.push(event as Told),
    error: (error) => (ended = error as object),
    complete: () => (ended ??= {}),
  });
  return { events, ended: () => ended, stop: () => client.dispose() };
};
