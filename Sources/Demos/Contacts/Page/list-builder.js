// Builds the sections of the list, one for each first letter, and forwards actions to the view.

const collator = new Intl.Collator("en", { sensitivity: "base" });

export class ListBuilder {
  #view;

  /** `view` has the actions: `retry`. */
  constructor(view) {
    this.#view = view;
  }

  route([name]) {
    this.#view[name]();
  }

  sections(state) {
    if (state.name === "loading") {
      return [single({ id: "loading", kind: "loading", text: "Loading the contacts …" })];
    }
    const { value, error } = state.result;
    if (error) {
      return [{ id: "error", cells: [
        { id: "error", kind: "message", tone: "bad", text: `The contacts cannot be loaded. ${error.message}` },
        { id: "retry", kind: "buttons", buttons: [{ label: "Try now", action: ["retry"] }] },
      ] }];
    }
    const { people, search, currentID } = value;
    if (people.length === 0) {
      return [single({ id: "empty", kind: "message", text: "No contacts yet. Add the first one." })];
    }
    const found = people.filter((person) => fits(person, search));
    if (found.length === 0) {
      return [single({ id: "none", kind: "message", text: `No contact matches “${search}”.` })];
    }
    return sectionsOf(found, currentID);
  }
}

const single = (cell) => ({ id: cell.id, cells: [cell] });

function sectionsOf(people, currentID) {
  const listed = people.map((person) => ({ person, letter: letterOf(person.name) }));
  listed.sort((one, other) =>
    (one.letter === "#") - (other.letter === "#")
    || collator.compare(one.letter, other.letter) || order(one.letter, other.letter)
    || collator.compare(one.person.name, other.person.name) || order(one.person.id, other.person.id));
  const sections = [];
  for (const { person, letter } of listed) {
    if (sections.at(-1)?.title !== letter) sections.push({ id: `letter-${letter}`, title: letter, cells: [] });
    sections.at(-1).cells.push(cellOf(person, currentID));
  }
  return sections;
}

function cellOf({ id, name, phone, email }, currentID) {
  return { id, kind: "person", name, detail: phone || email, href: `#/${id}`, isCurrent: id === currentID };
}

/** Returns `E` for Émile and for edsger, `#` for a name that does not begin with a letter. */
function letterOf(name) {
  const first = [...name.normalize("NFD")][0].toUpperCase();
  return /\p{L}/u.test(first) ? first : "#";
}

function order(text, other) {
  return text < other ? -1 : text > other ? 1 : 0;
}

function fits({ name, phone, email }, search) {
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const digits = search.replace(/\D/g, "");
  return plain(name).includes(plain(search)) || plain(email).includes(plain(search))
    || (digits.length > 1 && phone.replace(/\D/g, "").includes(digits));
}
