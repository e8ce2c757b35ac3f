// Times in milliseconds.
const PAUSE_MIN = 1_000;
const PAUSE_MAX = 30_000;

/** The retry delay: a second and a part of a window that doubles with each failure; random, to spread reconnects. */
export function pauseBefore(failures) {
  const window = Math.min(1_000 * 2 ** (failures - 1), PAUSE_MAX - PAUSE_MIN);
  return PAUSE_MIN + window * Math.random();
}

export function pause(time) {
  return new Promise((resume) => setTimeout(resume, time));
}
