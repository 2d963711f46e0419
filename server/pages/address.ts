// The addresses of these pages: each link of a page has in it what the page's own address has, and there may be a hundred.
import type { RequestHandler } from "express";
import { ApiError } from "../errors.ts";

/** As long as any page's own: that of an organization has all of its URI in it, that of /sparql a query. */
export const LONGEST_ADDRESS = 20_000;
const MOST_PARAMETERS = 1_000;

export const boundAddress: RequestHandler = ({ originalUrl }, _response, next) => {
  if (
    originalUrl.length <= LONGEST_ADDRESS &&
    originalUrl.split("&", MOST_PARAMETERS + 1).length <= MOST_PARAMETERS
  )
    return next();
  throw new ApiError("headers_too_large", {
    message: `The address of a page has at most ${LONGEST_ADDRESS} characters and ${MOST_PARAMETERS} parameters.`,
  });
};
