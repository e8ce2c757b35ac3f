import GRDB

/// A contact in the address book.
struct Contact: Codable, Equatable, Sendable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "Contacts"

    /// A lower-case UUID, created by the client that adds the contact.
    let id: String
    var name: String
    /// The phone number as entered; may be empty, like the two fields below.
    var phone: String
    var email: String
    var note: String

    /// The fields that the list shows: all except the note.
    var person: Person { Person(id: id, name: name, phone: phone, email: email) }
}

/// A contact in the list.
struct Person: Codable, Equatable, Sendable {
    let id: String
    let name: String
    let phone: String
    let email: String
}

extension Contact {
    /// Creates a contact, with missing fields empty; throws the ``FieldRefusal`` of the first invalid field.
    init(id: String, _ edit: ContactEdit) throws(FieldRefusal) {
        self.init(id: id, name: "", phone: "", email: "", note: "")
        guard edit.name != nil else { throw FieldRefusal.noName }
        try apply(edit)
    }

    /// Applies the fields of an edit and keeps the others; throws the ``FieldRefusal`` of the first invalid field.
    mutating func apply(_ edit: ContactEdit) throws(FieldRefusal) {
        if let name = edit.name { self.name = try ContactField.name.checked(name) }
        if let phone = edit.phone { self.phone = try ContactField.phone.checked(phone) }
        if let email = edit.email { self.email = try ContactField.email.checked(email) }
        if let note = edit.note { self.note = try ContactField.note.checked(note) }
    }
}
