// The operator's tool within the test itself: to begin a process takes longer than all that most commands do.
import { jest } from "@jest/globals";
import { AdminContext } from "../../admin/context.ts";
import { run } from "../../admin/main.ts";
import { loadConfig } from "../../config.ts";
import type { Outcome } from "./process.ts";

/** Runs one command line: what `admin` of process.ts does, but for the beginning and the end of the process. */
export async function tool(
  args: readonly string[],
  settings: Record<string, string>,
): Promise<Outcome & { code: number }> {
  const texts = { stdout: "", stderr: "" };
  const errors = jest.spyOn(process.stderr, "write").mockImplementation((text) => {
    texts.stderr += String(text);
    return true;
  });
  try {
    const context = new AdminContext(loadConfig(settings), (text) => void (texts.stdout += text));
    return { code: await run(context, args), ...texts };
  } finally {
    errors.mockRestore();
  }
}
