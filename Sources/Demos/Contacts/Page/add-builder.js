// Builds the form of a new contact and forwards actions to the view.

import { fieldCells } from "./fields.js";

export class AddBuilder {
  #view;

  /** `view` has the actions: `write`, `save`, `cancel`. */
  constructor(view) {
    this.#view = view;
  }

  route([name, ...details], value) {
    this.#view[name](...details, value);
  }

  sections(state) {
    const { draft, errors, isBusy, duplicates } = state.result.value;
    const form = { id: "form", cells: fieldCells(draft, { errors, isBusy }) };
    const save = { label: isBusy ? "Adding …" : "Add", tone: "main" };
    const below = { id: "actions", cells: [
      ...duplicates.map(({ id, name, same }) => (
        { id: `duplicate-${id}`, kind: "message", tone: "warning", text: `${name} has this ${same} already.` })),
      ...(errors.form ? [{ id: "error", kind: "message", tone: "bad", text: errors.form }] : []),
      { id: "buttons", kind: "buttons", isBusy, buttons: [save, { label: "Cancel", action: ["cancel"] }] },
    ] };
    return [form, below];
  }
}
