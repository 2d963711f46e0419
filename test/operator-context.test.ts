// What every command of the operator's tool says, and where: to a person, to a program, and while it takes long.
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { AdminContext, EXIT, table } from "../admin/context.ts";
import { loadConfig } from "../config.ts";

let now: number;
let told: { out: string; err: string };
const isTTY = Object.getOwnPropertyDescriptor(process.stderr, "isTTY");
beforeEach(() => {
  now = 1_000_000;
  told = { out: "", err: "" };
  jest.spyOn(performance, "now").mockImplementation(() => now);
  jest.spyOn(process.stderr, "write").mockImplementation((text) => (told.err += String(text)) !== "");
});
afterEach(() => {
  jest.restoreAllMocks();
  if (isTTY) Object.defineProperty(process.stderr, "isTTY", isTTY);
  else Reflect.deleteProperty(process.stderr, "isTTY");
});

const onTerminal = (is: boolean) =>
  Object.defineProperty(process.stderr, "isTTY", { value: is, configurable: true });
const context = () => new AdminContext(loadConfig({}), (text) => void (told.out += text));

describe("what was done", () => {
  test.each<[string | string[], string]>([
    ["one line", "one line\n"],
    [["one", "two"], "one\ntwo\n"],
  ])("is told a person in words: %j", (text, line) => {
    context().print({ done: 1 }, text);
    expect(told).toEqual({ out: line, err: "" });
  });

  test.each<[unknown, string]>([
    [{ done: 1 }, '{"done":1}\n'],
    [[], "[]\n"],
    [null, "null\n"],
  ])("is one value for a program: %j", (value, line) => {
    const asked = context();
    asked.json = true;
    asked.print(value, ["one", "two"]);
    expect(told).toEqual({ out: line, err: "" });
  });

  test.each([false, true])("is not mixed with what else there is to say (--json: %s)", (json) => {
    const asked = context();
    asked.json = json;
    asked.note("by the way");
    expect([asked.exitCode, told]).toEqual([EXIT.done, { out: "", err: "by the way\n" }]);
    asked.warn("this could not be done");
    asked.warn("nor this");
    const err = "by the way\nthis could not be done\nnor this\n";
    expect([asked.exitCode, told]).toEqual([1, { out: "", err }]);
  });

  test("gives a terminal no orders, whatever is in a file", () => {
    context().note("a\u001b[2Jb\r\nc\u009bd\tе");
    expect(told.err).toBe("a\uFFFD[2Jb\uFFFD\uFFFDc\uFFFDd\uFFFDе\n");
  });
});

test("a table has each column as wide as its widest cell, and nothing at the end of a line", () => {
  const rows = [
    ["a", 1, true],
    ["longer than it", null, "x"],
    ["", 1234567, undefined],
  ];
  expect(table(["id", "count", "is"], rows)).toEqual([
    "id              count    is",
    "a               1        true",
    "longer than it           x",
    "                1234567",
  ]);
  expect(table(["id", "count"], [])).toEqual(["id  count"]);
});

describe("what takes long", () => {
  beforeEach(() => void onTerminal(false));

  test("is told of in lines where there is no terminal: every five seconds how far it has come, and its end", () => {
    const progress = context().progress("records", 10);
    now += 4_999;
    progress.advance(2);
    expect(told.err).toBe("");
    now += 1;
    progress.advance(3);
    expect(told.err).toBe("records: 5 of 10\n");
    now += 4_999;
    progress.advance();
    now += 1;
    progress.advance();
    expect(told.err).toBe("records: 5 of 10\nrecords: 7 of 10\n");
    progress.advance(2);
    progress.done();
    expect(told).toEqual({ out: "", err: "records: 5 of 10\nrecords: 7 of 10\nrecords: 9 of 10, done\n" });
  });

  test("has no total until one is known", () => {
    const progress = context().progress("rows");
    now += 5_000;
    progress.advance();
    progress.total(3);
    now += 5_000;
    progress.advance(2);
    progress.done();
    expect(told.err).toBe("rows: 1\nrows: 3 of 3\nrows: 3 of 3, done\n");
  });

  test("is a bar on a terminal, which ends where the work has come", () => {
    onTerminal(true);
    const progress = context().progress("records", 8);
    progress.total(10);
    progress.advance(3);
    progress.advance();
    progress.done();
    const last = told.err.split("records ").at(-1)!;
    expect(last).toContain(" 40% 4/10 ");
    expect(told.out).toBe("");
  });
});
