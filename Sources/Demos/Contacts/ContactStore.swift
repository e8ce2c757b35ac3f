import GRDB

/// A model at one revision; screens receive it whenever the model changes.
struct Snapshot<Model: Encodable & Sendable>: Encodable, Sendable {
    /// The number of changes of the store.
    let revision: Int64
    /// The model; `nil`, encoded as null, for a contact that does not exist.
    let model: Model?

    private enum CodingKeys: String, CodingKey { case revision, model }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(revision, forKey: .revision)
        try fields.encode(model, forKey: .model)
    }
}

/// The contacts in SQLite, and the number of their changes.
struct ContactStore: Sendable {
    /// The maximum number of contacts.
    static let contactCountMax = 500

    let database: DatabaseQueue

    /// Returns all contacts, by name.
    func people() throws -> Snapshot<[Person]> { try database.read(Self.people) }

    static func people(_ database: Database) throws -> Snapshot<[Person]> {
        let contacts = try Contact.order(sql: "name COLLATE NOCASE, id").fetchAll(database)
        return Snapshot(revision: try revision(database), model: contacts.map(\.person))
    }

    /// Returns one contact; the model is `nil` when it does not exist.
    func contact(_ id: String) throws -> Snapshot<Contact> {
        try database.read { try Self.contact(id, $0) }
    }

    static func contact(_ id: String, _ database: Database) throws -> Snapshot<Contact> {
        Snapshot(revision: try revision(database), model: try Contact.fetchOne(database, key: id))
    }

    /// The outcome of a change.
    enum Outcome: Equatable {
        /// The change was written.
        case done
        /// The change was made before.
        case alreadyDone
        case noSuchContact
        case full
    }

    // A change ends with `post`, which adds its events in the same transaction.

    /// Adds a contact, unless its ID exists.
    func add(_ contact: Contact, post: (Database) throws -> Void = { _ in }) throws -> Outcome {
        try database.write { database in
            guard try !contact.exists(database) else { return .alreadyDone }
            guard try Contact.fetchCount(database) < Self.contactCountMax else { return .full }
            try contact.insert(database)
            try countChange(database)
            try post(database)
            return .done
        }
    }

    /// Writes some fields of a contact; others keep concurrent changes, and nothing is written if it throws.
    func change(
        _ id: String,
        _ edit: ContactEdit,
        post: (Database) throws -> Void = { _ in }
    ) throws -> Outcome {
        try database.write { database in
            guard var contact = try Contact.fetchOne(database, key: id) else {
                return .noSuchContact
            }
            let before = contact
            try contact.apply(edit)
            guard contact != before else { return .alreadyDone }
            try contact.update(database)
            try countChange(database)
            try post(database)
            return .done
        }
    }

    /// Removes a contact, if it exists.
    func remove(_ id: String, post: (Database) throws -> Void = { _ in }) throws -> Outcome {
        try database.write { database in
            guard try Contact.deleteOne(database, key: id) else { return .alreadyDone }
            try countChange(database)
            try post(database)
            return .done
        }
    }

    private static func revision(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT revision FROM ContactsRevision") ?? 0
    }

    private func countChange(_ database: Database) throws {
        try database.execute(sql: "UPDATE ContactsRevision SET revision = revision + 1")
    }
}
