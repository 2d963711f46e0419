// Whether an answer may be given, asked while it can still be another one: Grafserv writes its headers before its body.
import { requireRoom } from "../identity/undelivered.ts";

/** The plugin that refuses long answers to those who do not read the ones before. */
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
