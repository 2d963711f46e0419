// The number of needs by accelerator.
import { html } from "hono/html";
import { listLink } from "./links.ts";
import { count, numbers } from "./numbers.ts";
import { picture } from "./picture.ts";

type Group = {
  count: number;
  open: number;
  group: { accelerators: string; accelerator: { prefLabel: string } | null };
};
type Answer = { needs: { groupedAggregates: Group[] } };

export const accelerators = picture<Answer>({
  id: "accelerators",
  title: "Needs by accelerator",
  query: `{
  needs {
    groupedAggregates(groupBy: [ACCELERATORS], first: 20) {
      count
      open: count(status: [open])
      group {
        accelerators
        accelerator {
          prefLabel
        }
      }
    }
  }
}`,
  draw: ({ needs: { groupedAggregates: groups } }) => {
    if (groups.length === 0) return html`<p>There are no needs yet.</p>`;
    const most = Math.max(...groups.map(({ count }) => count));
    return html`${numbers(
        "Needs by accelerator",
        ["Accelerator", "Needs", "Open"],
        groups.map(({ count: all, open, group: { accelerators: accelerator, accelerator: known } }) => ({
          name: known?.prefLabel ?? accelerator,
          numbers: [
            count(all, listLink("needs", { accelerator })),
            count(open, listLink("needs", { accelerator, status: "open" })),
          ],
          bar: all / most,
        })),
      )}
      <p class="quiet">The twenty with the most needs; a need counts in each of its accelerators.</p>`;
  },
});
