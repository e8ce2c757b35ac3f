// Times in milliseconds.
const FIRST_PAUSE = 1_000;
const PAUSE_MAX = 30_000;

/** The retry delay: doubles with each attempt, with jitter to spread reconnects. */
export function pauseBefore(attempts) {
  const time = Math.min(FIRST_PAUSE * 2 ** Math.max(attempts - 1, 0), PAUSE_MAX);
  return time * (0.75 + Math.random() / 2);
}

export function pause(time) {
  return new Promise((resume) => setTimeout(resume, time));
}
