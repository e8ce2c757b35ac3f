/** The longest time that the app's backend may take for a signature, in milliseconds. */
const ANSWER_TIME_MAX = 10_000;

/** The requests at once: browsers open six connections to a server, and what waits for one must not time out meanwhile. */
const REQUESTS_MAX = 6;

/** The number of requests on their way, and the functions that begin those that wait. */
let requestCount = 0;
const waiting = [];

/** The app's backend refused: thrown by `authorize`. Its other errors are retried. */
export class NotAuthorized extends Error {}

/** Asks the app's backend for a signature, with the form that pusher-js sends; not if `signal` is aborted before its turn. */
export async function askEndpoint(options, request) {
  if (requestCount < REQUESTS_MAX) requestCount += 1;
  else await new Promise((begin) => waiting.push(begin));
  try {
    request.signal.throwIfAborted();
    return await ask(options, request);
  } finally {
    const next = waiting.shift();
    if (next) next();
    else requestCount -= 1;
  }
}

async function ask({ authEndpoint, userAuthEndpoint, authHeaders }, { socketID, channel, signal }) {
  const url = channel ? authEndpoint : userAuthEndpoint;
  if (!url) throw new NotAuthorized(`set \`authorize\` or \`${channel ? "authEndpoint" : "userAuthEndpoint"}\``);
  const body = new URLSearchParams({ socket_id: socketID, ...(channel && { channel_name: channel }) });
  const headers = typeof authHeaders === "function" ? authHeaders() : authHeaders;
  const request = new AbortController();
  const end = () => request.abort(signal.reason);
  signal.addEventListener("abort", end);
  const timer = setTimeout(() => request.abort(new Error(`${url} does not answer`)), ANSWER_TIME_MAX);
  let response;
  try {
    response = await fetch(url, { method: "POST", headers, body, signal: request.signal });
    if (response.ok) return await response.json();
  } catch (error) {
    // Browsers do not say why: the network, or an endpoint that does not allow this page's origin.
    throw error instanceof TypeError ? new Error(`${url} cannot be reached from ${globalThis.location?.origin}`, { cause: error }) : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
  const message = `${url} answered with status ${response.status}`;
  const isFinal = response.status < 500 && ![408, 429].includes(response.status);
  throw isFinal ? new NotAuthorized(message) : new Error(message);
}
