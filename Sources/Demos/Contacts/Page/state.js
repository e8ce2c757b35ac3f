// What a screen knows of its model: it is loading, or it is finished with a result.

export const loading = Object.freeze({ name: "loading" });

/** `result` is `{ value }`, or `{ error }` while there is nothing else to show. */
export function finished(result) {
  return Object.freeze({ name: "finished", result });
}
