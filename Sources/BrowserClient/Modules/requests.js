/** Times in milliseconds. */
const ANSWER_TIME_MAX = 10_000;

/** Statuses that say "not now" or "sign in again": they do not concern what was sent, which is sent again. */
const NOT_NOW = [401, 407, 408, 421, 425, 429];

/** The backend cannot answer now, or its response is invalid: what was sent is kept, and sent again. */
export class BackendUnavailable extends Error {}

/** The backend refused the request; `message` is the reason, `field` the field that it is about, if any. */
export class Refused extends Error {
  constructor(message, status, field = null) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

/**
 * Sends a request, with an optional `body` as JSON, and resolves to the JSON of the response. Errors have a message for the
 * user. `headers` are added, and `signal` ends it.
 */
export async function request(method, url, body, { headers, signal } = {}) {
  let response, answer;
  try {
    response = await fetch(url, {
      method,
      headers: { accept: "application/json", ...(body && { "content-type": "application/json" }), ...headers },
      body: body && JSON.stringify(body),
      signal: AbortSignal.any([AbortSignal.timeout(ANSWER_TIME_MAX), ...(signal ? [signal] : [])]),
    });
    answer = await jsonOf(response);
  } catch {
    throw new BackendUnavailable("The backend cannot be reached.");
  }
  const { ok, status } = response;
  if (ok && answer !== undefined) return answer;
  const message = answer?.error ?? `The backend responded with status ${status}${status === 401 ? ": sign in again" : ""}.`;
  // A refusal has a reason; but proxies refuse what is too long with a page of their own.
  const isRefusal = status >= 400 && status < 500 && !NOT_NOW.includes(status) && (answer !== undefined || status === 413);
  throw isRefusal ? new Refused(message, status, answer?.field) : new BackendUnavailable(message);
}

/** Returns a response's JSON; undefined if it is none. */
async function jsonOf(response) {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
