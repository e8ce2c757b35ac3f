import GRDB

/// A model as it was at one revision: what a screen gets whenever the model has changed.
struct Snapshot<Model: Encodable & Sendable>: Encodable, Sendable {
    /// How many changes the store had seen.
    let revision: Int64
    /// `nil`, and written so, for a contact that is not there.
    let model: Model?

    private enum CodingKeys: String, CodingKey { case revision, model }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(revision, forKey: .revision)
        try fields.encode(model, forKey: .model)
    }
}

/// The contacts in SQLite, and the number of changes that have made them.
struct ContactStore: Sendable {
    /// The most contacts that the store takes.
    static let contactCountMax = 500

    let database: DatabaseQueue

    /// Everybody, by name.
    func people() throws -> Snapshot<[Person]> {
        try database.read { database in
            let contacts = try Contact.order(sql: "name COLLATE NOCASE, id").fetchAll(database)
            return Snapshot(revision: try revision(database), model: contacts.map(\.person))
        }
    }

    /// One contact; its model is `nil` when there is no such contact.
    func contact(_ id: String) throws -> Snapshot<Contact> {
        try database.read { database in
            Snapshot(
                revision: try revision(database),
                model: try Contact.fetchOne(database, key: id)
            )
        }
    }

    /// What a change came to.
    enum Outcome: Equatable {
        /// It is in the database.
        case done
        /// It was there already: asked for twice, it is the same as once.
        case alreadyDone
        case noSuchContact
        case full
    }

    /// Adds a contact, unless one with its id is there already.
    func add(_ contact: Contact) throws -> Outcome {
        try database.write { database in
            guard try !contact.exists(database) else { return .alreadyDone }
            guard try Contact.fetchCount(database) < Self.contactCountMax else { return .full }
            try contact.insert(database)
            try countChange(database)
            return .done
        }
    }

    /// Writes some fields of a contact; the others keep what somebody else may have written meanwhile.
    ///
    /// - Throws: A ``FieldRefusal``, with nothing written.
    func change(_ id: String, _ edit: ContactEdit) throws -> Outcome {
        try database.write { database in
            guard var contact = try Contact.fetchOne(database, key: id) else {
                return .noSuchContact
            }
            let before = contact
            try contact.take(edit)
            guard contact != before else { return .alreadyDone }
            try contact.update(database)
            try countChange(database)
            return .done
        }
    }

    /// Removes a contact, if it is there.
    func remove(_ id: String) throws -> Outcome {
        try database.write { database in
            guard try Contact.deleteOne(database, key: id) else { return .alreadyDone }
            try countChange(database)
            return .done
        }
    }

    private func revision(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT revision FROM ContactsRevision") ?? 0
    }

    private func countChange(_ database: Database) throws {
        try database.execute(sql: "UPDATE ContactsRevision SET revision = revision + 1")
    }
}
