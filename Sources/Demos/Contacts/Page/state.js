// The state of a screen's model: loading, or finished with a result.

export const loading = Object.freeze({ name: "loading" });

/** `result` is `{ value }`, or `{ error }` without a value. */
export function finished(result) {
  return Object.freeze({ name: "finished", result });
}
