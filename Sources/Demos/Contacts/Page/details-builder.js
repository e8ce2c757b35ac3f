// Builds the card or the form of a contact and forwards actions to the view.

import { fieldCells } from "./fields.js";

export class DetailsBuilder {
  #view;

  /** `view` has the actions: `edit`, `write`, `take`, `cancel`, `askToRemove`, `keep`, `remove`, `addAgain`, `leave`. */
  constructor(view) {
    this.#view = view;
  }

  route([name, ...details], value) {
    this.#view[name](...details, value);
  }

  sections(state) {
    if (state.name === "loading") {
      return [{ id: "loading", cells: [{ id: "loading", kind: "loading", text: "Loading …" }] }];
    }
    const { value, error } = state.result;
    if (error) return failure(`This contact cannot be loaded. ${error.message}`);
    if (!value.person) return failure("There is no such contact; it may have been deleted.");
    if (value.isGone) return gone(value);
    return value.draft ? form(value) : card(value);
  }
}

function failure(text) {
  return [{ id: "error", cells: [
    { id: "error", kind: "message", tone: "bad", text },
    { id: "buttons", kind: "buttons", buttons: [{ label: "All contacts", action: ["leave"] }] },
  ] }];
}

const title = ({ person, isGone }) => ({ id: "title", cells: [{ id: "title", kind: "title", name: person.name, isGone }] });

/** Returns the details; empty ones have no cell. */
function facts({ phone, email, note }) {
  const all = [
    { id: "phone", label: "Phone", text: phone, href: `tel:${phone.replace(/[^\d+]/g, "")}` },
    { id: "email", label: "E-mail", text: email, href: `mailto:${email}` },
    { id: "note", label: "Note", text: note },
  ];
  return { id: "facts", cells: all.filter(({ text }) => text).map((fact) => ({ kind: "fact", ...fact })) };
}

function card(value) {
  const { person, isConfirming, isBusy, errors } = value;
  const error = errors.form ? [{ id: "problem", kind: "message", tone: "bad", text: errors.form }] : [];
  const asked = [
    { id: "question", kind: "message", tone: "warning", text: `Delete ${person.name} on all screens?` },
    { id: "answers", kind: "buttons", isBusy, buttons: [
      { label: "Keep", action: ["keep"] }, { label: "Delete", action: ["remove"], tone: "bad" },
    ] },
  ];
  const ways = [{ id: "ways", kind: "buttons", buttons: [
    { label: "Edit", action: ["edit"], tone: "main" }, { label: "Delete …", action: ["askToRemove"] },
  ] }];
  return [title(value), facts(person), { id: "actions", cells: [...error, ...(isConfirming ? asked : ways)] }];
}

function form({ person, draft, seen, errors, isBusy }) {
  const hints = {};
  for (const field of Object.keys(draft)) {
    const text = person[field];
    if (text !== seen[field] && text !== draft[field]) {
      hints[field] = text ? `Changed elsewhere to “${text}”.` : "Cleared elsewhere.";
    }
  }
  const error = errors.form ? [{ id: "error", kind: "message", tone: "bad", text: errors.form }] : [];
  const save = { label: isBusy ? "Saving …" : "Save", tone: "main" };
  return [
    { id: "form", cells: fieldCells({ ...person, ...draft }, { errors, hints, isBusy }) },
    { id: "actions", cells: [
      ...error,
      { id: "form-ways", kind: "buttons", isBusy, buttons: [save, { label: "Cancel", action: ["cancel"] }] },
    ] },
  ];
}

function gone(value) {
  const { person, draft } = value;
  const written = draft && Object.keys(draft).length > 0 ? " What you have written is kept if you add them again." : "";
  return [title(value), facts(person), { id: "actions", cells: [
    { id: "gone", kind: "message", tone: "warning", text: `${person.name} was deleted on another screen.${written}` },
    { id: "gone-ways", kind: "buttons", buttons: [
      { label: "Add again", action: ["addAgain"], tone: "main" }, { label: "All contacts", action: ["leave"] },
    ] },
  ] }];
}
