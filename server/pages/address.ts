// Limits the addresses of pages: a page repeats its own address in each of up to a hundred links.
import type { RequestHandler } from "express";
import { ApiError } from "../errors.ts";

/** Enough for any page: an organization's address contains its whole URI, that of /sparql a query. */
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
