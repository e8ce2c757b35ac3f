// The fields of a contact, as forms and cards show them. What may be written into them, the store decides.

export const FIELDS = [
  { id: "name", label: "Name", type: "text", limit: 100 },
  { id: "phone", label: "Phone", type: "tel", limit: 40 },
  { id: "email", label: "E-mail", type: "email", limit: 254 },
  { id: "note", label: "Note", limit: 1_000, isLong: true },
];

/** A person of whom nothing is known yet. */
export const nobody = Object.freeze({ name: "", phone: "", email: "", note: "" });

/** The cells of a form: `values` by field, and by field also `errors` and `hints`, if there are any. */
export function fieldCells(values, { errors = {}, hints = {}, isBusy = false } = {}) {
  return FIELDS.map(({ id, label, type, limit, isLong }) => ({
    id, kind: "field", label, type, limit, isLong, isBusy, value: values[id],
    error: errors[id], hint: hints[id], action: ["write", id], hintAction: ["take", id],
  }));
}

/** What is shown of a refusal: at the field that it names, or below the form. */
export function errorsOf(error) {
  return { [error.field ?? "form"]: error.message };
}
