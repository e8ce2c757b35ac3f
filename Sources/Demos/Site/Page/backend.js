// Requests to the demos' backend. Errors have a message for the user.

/** Times in milliseconds. */
const ANSWER_TIME_MAX = 10_000;

/** Aborted while the page is offline by its own button. */
let line = new AbortController();

/** Ends the requests in flight and refuses further ones, or allows them again. */
export function setOffline(isOffline) {
  if (isOffline) line.abort();
  else if (line.signal.aborted) line = new AbortController();
}

/** The backend is unavailable or its response is invalid. */
export class BackendUnavailable extends Error {}

/** The backend refused the request; `message` is the reason, `field` the field that it is about, if any. */
export class Refused extends Error {
  constructor(message, status, field = null) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

/** Sends a request, with an optional `body` as JSON, and resolves to the JSON of the response. */
export async function request(method, path, body) {
  if (line.signal.aborted) throw new BackendUnavailable("This page is offline.");
  let response, answer;
  try {
    response = await fetch(path, {
      method,
      headers: { accept: "application/json", ...(body && { "content-type": "application/json" }) },
      body: body && JSON.stringify(body),
      signal: AbortSignal.any([AbortSignal.timeout(ANSWER_TIME_MAX), line.signal]),
    });
    answer = await response.json();
  } catch {
    throw new BackendUnavailable("The backend cannot be reached.");
  }
  if (response.ok) return answer;
  const message = answer?.error ?? `The backend responded with status ${response.status}.`;
  throw response.status < 500 ? new Refused(message, response.status, answer?.field) : new BackendUnavailable(message);
}
