// What settings, options and headers mean when they can be taken in two ways, or for nothing.
import type { Mistake } from "../mistake.ts";

export const SETTINGS_MENDED: readonly Mistake[] = [
  {
    rule: "a time at which a key ends says its offset: it is nobody's time zone",
    file: "admin/key-options.ts",
    before: "(Z|[+-]\\d{2}:\\d{2}))?$/;",
    after: "(Z|[+-]\\d{2}:\\d{2})?)?$/;",
    tests: ["key-words"],
    only: "what it may be",
  },
  {
    rule: "a time at which a key ends may be that of an offset",
    file: "admin/key-options.ts",
    before: "(Z|[+-]\\d{2}:\\d{2}))?$/;",
    after: "Z)?$/;",
    tests: ["key-words"],
    only: "what it may be",
  },
];
