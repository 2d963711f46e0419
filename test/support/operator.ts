// The operator's tool, as a person and as a program hear from it.
import { expect } from "@jest/globals";
import { admin } from "./process.ts";

export type Operator = {
  /** what a command that succeeds prints, line by line */
  lines: (...args: string[]) => Promise<string[]>;
  /** what it prints with --json */
  value: (...args: string[]) => Promise<Record<string, unknown>>;
};

export function operatorOf(settings: () => Record<string, string>): Operator {
  return {
    async lines(...args) {
      const { code, stdout, stderr } = await admin(args, settings());
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
      return stdout.replace(/\n$/, "").split("\n");
    },
    value: async (...args) =>
      JSON.parse((await admin([...args, "--json"], settings())).stdout) as Record<string, unknown>,
  };
}
