// Stands between the service and its database: counts statements, and can hold each of them.
import type { Pool } from "pg";

export type Between = {
  pool: Pool;
  /** how many statements were sent whose text or name contains this */
  count: (part: string) => number;
  /** comes before each statement */
  before: (text: string) => Promise<void> | void;
  /** comes after each statement that has succeeded */
  after: (text: string) => void;
};

export function standBetween(pool: Pool): Between {
  const sent: string[] = [];
  const textOf = (query: unknown) => {
    if (typeof query === "string") return query;
    const { name = "", text = "" } = query as { name?: string; text?: string };
    return `${name} ${text}`;
  };
  const around = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(real, property) {
        const value: unknown = Reflect.get(real, property, real);
        if (typeof value !== "function") return value;
        const method = value.bind(real) as (...args: unknown[]) => unknown;
        if (property === "query") {
          return async (...args: unknown[]) => {
            const text = textOf(args[0]);
            sent.push(text);
            await between.before(text);
            const answer = await method(...args);
            between.after(text);
            return answer;
          };
        }
        if (property === "connect") return async () => around((await method()) as object);
        return method;
      },
    });
  const between: Between = {
    pool: around(pool),
    count: (part) => sent.filter((text) => text.includes(part)).length,
    before: () => undefined,
    after: () => undefined,
  };
  return between;
}
