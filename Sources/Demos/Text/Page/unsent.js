// Edits that have not been sent are kept in the browser: a page that is closed or loaded anew finds them again.
//
// Whoever finds them sends them, also while another page does: the backend takes each once.

const PREFIX = "fanfare-unsent-";

export class Unsent {
  #key;
  #adopted = [];

  constructor(pageID) {
    this.#key = PREFIX + pageID;
  }

  /** What former pages have left behind. */
  adopt() {
    const batches = [];
    attempt(() => {
      for (const key of Object.keys(localStorage).filter((key) => key.startsWith(PREFIX))) {
        this.#adopted.push(key);
        batches.push(...JSON.parse(localStorage.getItem(key)));
      }
    });
    return batches;
  }

  keep(batches) {
    attempt(() => {
      if (batches.length > 0) localStorage.setItem(this.#key, JSON.stringify(batches));
      else localStorage.removeItem(this.#key);
      // From here on they are among this page's.
      for (const key of this.#adopted) localStorage.removeItem(key);
      this.#adopted = [];
    });
  }
}

/** A browser may forbid storage, or have no room left; then edits live as long as the page. */
function attempt(step) {
  try {
    step();
  } catch { /* see above */ }
}
