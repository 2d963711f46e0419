// Checks whether an answer may be sent while it can still be replaced: Grafserv writes headers before bodies.
import { requireRoom } from "../identity/undelivered.ts";

/** The plugin that refuses long answers to callers who have not read earlier ones. */
export const DeliveryPlugin: GraphileConfig.Plugin = {
  name: "DeliveryPlugin",
  grafserv: {
    middleware: {
      async processRequest(next, { requestDigest: { requestContext } }) {
        const result = await next();
        if (result?.type !== "buffer") return result;
        try {
          requireRoom(requestContext.expressv4!.res, result.buffer.length);
        } catch (error) {
          // Passed on, to be answered like every other refusal.
          return { type: "error", statusCode: 503, headers: {}, error: error as Error };
        }
        return result;
      },
    },
  },
};
