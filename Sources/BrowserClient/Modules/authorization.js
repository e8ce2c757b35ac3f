/** The longest time that the app's backend may take for a signature, in milliseconds. */
const ANSWER_TIME_MAX = 10_000;

/** The app's backend refused: thrown by `authorize`. Its other errors are retried. */
export class NotAuthorized extends Error {}

/** Asks the app's backend for a signature, with the form that pusher-js sends. */
export async function askEndpoint({ authEndpoint, userAuthEndpoint, authHeaders }, { socketID, channel }) {
  const url = channel ? authEndpoint : userAuthEndpoint;
  if (!url) throw new NotAuthorized(`neither \`authorize\` nor \`${channel ? "authEndpoint" : "userAuthEndpoint"}\` is set`);
  const body = new URLSearchParams({ socket_id: socketID, ...(channel && { channel_name: channel }) });
  const headers = typeof authHeaders === "function" ? authHeaders() : authHeaders;
  const response = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(ANSWER_TIME_MAX) });
  if (response.ok) return response.json();
  const message = `${url} answered with status ${response.status}`;
  throw response.status < 500 && response.status !== 429 ? new NotAuthorized(message) : new Error(message);
}
