// Parsers for the options of `keys`.
import { InvalidArgumentError } from "commander";
import { isNetwork } from "../forms.ts";

/** A repeatable option. */
export function several(text: string, before: string[] = []): string[] {
  return [...before, text];
}

export function network(text: string, before?: string[]): string[] {
  // PostgreSQL knows no zones of addresses, such as fe80::1%eth0.
  if (text.includes("%") || !isNetwork(text)) {
    throw new InvalidArgumentError(
      "It must be a network such as 192.0.2.0/24 or 2001:db8::/32, or one address.",
    );
  }
  return several(text, before);
}

export function hours(text: string): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || value > 100_000) {
    throw new InvalidArgumentError("It must be a number of hours, such as 24.");
  }
  return value;
}

// A time needs an offset: without one it would depend on the time zone of the machine that runs the command.
const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

export function futureDate(text: string): string {
  const time = Date.parse(text);
  // Date rolls 30 February over into March; a date that comes back as another one does not exist.
  const day = text.slice(0, 10);
  const dayExists = !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
  if (!DATE.test(text) || Number.isNaN(time) || !dayExists) {
    throw new InvalidArgumentError(
      "It must be a date such as 2030-12-31, or a time with its offset such as 2030-12-31T12:00:00Z or 2030-12-31T12:00:00+02:00.",
    );
  }
  if (time <= Date.now()) throw new InvalidArgumentError("It is in the past.");
  return new Date(time).toISOString();
}

export function positiveInteger(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 2_147_483_647) {
    throw new InvalidArgumentError("It must be a whole number of at least 1.");
  }
  return value;
}
