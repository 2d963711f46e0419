import { z } from "zod";
import { enums } from "../../db/catalog.ts";
import type { RestRoute } from "../rest/route.ts";

const accelerator = z
  .object({
    code: z.string(),
    kind: z.enum(enums.accelerator_kind),
    prefLabel: z.string(),
    definition: z.string().nullable(),
    broader: z.string().nullable(),
    conceptUri: z.string(),
    deprecated: z.boolean(),
  })
  .meta({ id: "Accelerator" });

export const acceleratorRoutes: RestRoute[] = [
  {
    method: "get",
    path: "/v0/accelerators",
    operationId: "listAccelerators",
    tag: "Vocabulary",
    summary: "List the codes of the accelerator scheme",
    description: "Deprecated codes are listed too: existing records may carry them, new ones may not.",
    answer: {
      status: 200,
      schema: z.object({ accelerators: z.array(accelerator), total: z.int() }),
      description: "All accelerators and functions, by code.",
    },
    errors: [],
    statement: `
      select json_build_object('accelerators', coalesce(json_agg(item order by item.code), '[]'), 'total', count(*))::text
      from rest.accelerators as item`,
  },
];
