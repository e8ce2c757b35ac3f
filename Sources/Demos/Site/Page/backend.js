// Requests to the demos' backend. Errors have a message for the user.

import { BackendUnavailable, Refused, request as send } from "./fanfare-live.js";

export { BackendUnavailable, Refused };

/** Aborted while the page is offline by its own button. */
let line = new AbortController();

/** Ends the requests in flight and refuses further ones, or allows them again. */
export function setOffline(isOffline) {
  if (isOffline) line.abort();
  else if (line.signal.aborted) line = new AbortController();
}

/** Sends a request, with an optional `body` as JSON, and resolves to the JSON of the response. */
export async function request(method, path, body) {
  if (line.signal.aborted) throw new BackendUnavailable("This page is offline.");
  return send(method, path, body, { signal: line.signal });
}
