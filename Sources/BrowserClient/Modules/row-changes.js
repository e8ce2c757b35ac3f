// The changes from one list of rows to another, by the rules of table views: within one batch, deletions are
// indices before it, insertions indices after it, and a move goes from an old index to a new one. The number of
// moves is minimal: the unmoved rows are a longest increasing subsequence.

/** Returns `{ deletes, inserts, moves: [{ from, to }], updates }`, each ascending; rows are matched by id. */
export function rowChanges(before, after, isSame = (row, other) => row === other) {
  const oldIndex = new Map(before.map(({ id }, index) => [id, index]));
  const newIDs = new Set(after.map(({ id }) => id));
  const deletes = before.flatMap(({ id }, index) => (newIDs.has(id) ? [] : [index]));
  const inserts = after.flatMap(({ id }, index) => (oldIndex.has(id) ? [] : [index]));

  const kept = after.flatMap(({ id }, to) => (oldIndex.has(id) ? [{ from: oldIndex.get(id), to }] : []));
  const staying = new Set(longestRun(kept.map(({ from }) => from)));
  const moves = kept.filter(({ from }) => !staying.has(from));
  // New indices: updates are applied after the batch.
  const updates = kept.filter(({ from, to }) => !isSame(before[from], after[to])).map(({ to }) => to);
  return { deletes, inserts, moves, updates };
}

/** Returns a longest increasing subsequence of distinct numbers. */
function longestRun(numbers) {
  /** For each length, the index of the smallest number at which a subsequence of that length ends. */
  const ends = [];
  const previous = [];
  numbers.forEach((number, index) => {
    let low = 0, high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[ends[middle]] < number) low = middle + 1;
      else high = middle;
    }
    previous[index] = ends[low - 1];
    ends[low] = index;
  });
  const run = [];
  for (let index = ends.at(-1); index !== undefined; index = previous[index]) run.push(numbers[index]);
  return run.reverse();
}
