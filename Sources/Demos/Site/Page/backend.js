// Requests to the demos' backend. A failure becomes an error whose message can be shown.

/** Times in milliseconds. */
const ANSWER_TIME_MAX = 10_000;

/** The backend could not be reached, or answered what nobody can use. */
export class BackendAway extends Error {}

/** The backend understood and refused; the message says why, and `field` what it is about, if it is one field. */
export class Refused extends Error {
  constructor(message, status, field = null) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

/** Sends a request, with `body` as JSON if there is one, and resolves to the JSON of the answer. */
export async function request(method, path, body) {
  let response, answer;
  try {
    response = await fetch(path, {
      method,
      headers: { accept: "application/json", ...(body && { "content-type": "application/json" }) },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_TIME_MAX),
    });
    answer = await response.json();
  } catch {
    throw new BackendAway("The backend cannot be reached.");
  }
  if (response.ok) return answer;
  const message = answer?.error ?? `The backend answered with status ${response.status}.`;
  throw response.status < 500 ? new Refused(message, response.status, answer?.field) : new BackendAway(message);
}
