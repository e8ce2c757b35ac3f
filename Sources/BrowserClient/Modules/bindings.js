/** Functions bound to the names of events, and those bound to all events. */
export class Bindings {
  /** The functions by event; those of all events by null. */
  #actions = new Map();

  bind(event, action) {
    const actions = this.#actions.get(event) ?? new Set();
    this.#actions.set(event, actions.add(action));
    return this;
  }

  /** Without an action, unbinds all of the event. */
  unbind(event, action) {
    const actions = this.#actions.get(event);
    if (action) actions?.delete(action);
    else actions?.clear();
    return this;
  }

  /** Calls `action(event, data, detail)` for every event. */
  bind_global(action) {
    return this.bind(null, action);
  }

  unbind_global(action) {
    return this.unbind(null, action);
  }

  unbind_all() {
    // Cleared, not forgotten: an event that is being delivered stops.
    for (const actions of this.#actions.values()) actions.clear();
    return this;
  }

  emit(event, data, detail) {
    this.#call(event, data, detail);
    this.#call(null, event, data, detail);
  }

  #call(event, ...told) {
    const actions = this.#actions.get(event) ?? new Set();
    for (const action of [...actions]) {
      // Another one has unbound it, or left the channel.
      if (!actions.has(action)) continue;
      // A fault of one listener must not cost others the event.
      try {
        action(...told);
      } catch (error) {
        // Node has no reportError.
        (globalThis.reportError ?? console.error)(error);
      }
    }
  }
}
