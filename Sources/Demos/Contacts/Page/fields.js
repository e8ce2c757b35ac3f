// The fields of a contact in forms and cards. The store validates them.

export const FIELDS = [
  { id: "name", label: "Name", type: "text", limit: 100 },
  { id: "phone", label: "Phone", type: "tel", limit: 40 },
  { id: "email", label: "E-mail", type: "email", limit: 254 },
  { id: "note", label: "Note", limit: 1_000, isLong: true },
];

/** A contact with empty fields. */
export const emptyPerson = Object.freeze({ name: "", phone: "", email: "", note: "" });

/** Returns the cells of a form; `values`, `errors` and `hints` are by field. */
export function fieldCells(values, { errors = {}, hints = {}, isBusy = false } = {}) {
  return FIELDS.map(({ id, label, type, limit, isLong }) => ({
    id, kind: "field", label, type, limit, isLong, isBusy, value: values[id],
    error: errors[id], hint: hints[id], action: ["write", id], hintAction: ["take", id],
  }));
}

/** Returns the errors of a refusal: at its field, or below the form. */
export function errorsOf(error) {
  return { [error.field ?? "form"]: error.message };
}
