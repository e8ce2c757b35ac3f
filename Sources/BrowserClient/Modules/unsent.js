// Stores unsent edits in the browser, so that they survive closing or reloading the page.
//
// Every page of the same list or text that finds them sends them; the backend applies each once.

export class Unsent {
  /** Of all pages of the list or text; a page's key has its ID behind it. */
  #prefix;
  #key;
  #adopted = [];

  constructor(name, pageID) {
    this.#prefix = `fanfare-unsent-${name}-`;
    this.#key = this.#prefix + pageID;
  }

  /** Returns the stored edits of earlier pages. */
  adopt() {
    const batches = [];
    attempt(() => {
      for (const key of Object.keys(localStorage).filter((key) => key.startsWith(this.#prefix))) {
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
      // They are now stored with this page's edits.
      for (const key of this.#adopted) localStorage.removeItem(key);
      this.#adopted = [];
    });
  }
}

/** Without browser storage, or with a full one, edits last as long as the page. */
function attempt(step) {
  try {
    step();
  } catch { /* see above */ }
}
