import GRDB

/// Somebody in the address book.
struct Contact: Codable, Equatable, Sendable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "Contacts"

    /// A UUID in lower case, made by who adds the contact.
    let id: String
    var name: String
    /// As it was written; may be empty, like the two below.
    var phone: String
    var email: String
    var note: String

    /// What the list shows: all but the note.
    var person: Person { Person(id: id, name: name, phone: phone, email: email) }
}

/// A contact as the list shows it.
struct Person: Codable, Equatable, Sendable {
    let id: String
    let name: String
    let phone: String
    let email: String
}

extension Contact {
    /// A contact with the fields of an edit; those that it does not name are empty.
    ///
    /// - Parameters:
    ///   - id: The contact's id.
    ///   - edit: What was written into the fields.
    /// - Throws: The ``FieldRefusal`` of the first field that cannot be taken.
    init(id: String, _ edit: ContactEdit) throws(FieldRefusal) {
        self.init(id: id, name: "", phone: "", email: "", note: "")
        guard edit.name != nil else { throw FieldRefusal.noName }
        try take(edit)
    }

    /// Takes the fields that an edit names, and leaves the others alone.
    ///
    /// - Parameter edit: What was written into the fields.
    /// - Throws: The ``FieldRefusal`` of the first field that cannot be taken.
    mutating func take(_ edit: ContactEdit) throws(FieldRefusal) {
        if let name = edit.name { self.name = try ContactField.name.checked(name) }
        if let phone = edit.phone { self.phone = try ContactField.phone.checked(phone) }
        if let email = edit.email { self.email = try ContactField.email.checked(email) }
        if let note = edit.note { self.note = try ContactField.note.checked(note) }
    }
}
