import DemoSite
import HTTP1

/// The one writer of the contacts: after each change it tells the screens that there is a new snapshot.
///
/// There are two kinds of models: all people, on the channel `contacts`, and one contact, on `contacts-ID`. The event
/// `snapshot` carries `{"revision": 7, "model": …}`; a model that is too large for an event is left out, and fetched
/// by who wants it.
actor PublishedContacts {
    /// The channel of the model of all people.
    static let channel = "contacts"
    /// The event that tells of a new snapshot.
    static let event = "snapshot"
    /// The most bytes of an event that has its model with it; a broker takes 10 KiB by default.
    static let eventLengthMax = 8_000

    private let store: ContactStore
    private let outbox: Outbox

    init(store: ContactStore, outbox: Outbox) {
        self.store = store
        self.outbox = outbox
    }

    // None of these methods suspends: between a change and its event no other change can slip in.

    func people() throws -> Snapshot<[Person]> { try store.people() }

    func contact(_ id: String) throws -> Snapshot<Contact> { try store.contact(id) }

    /// Adds a contact.
    ///
    /// - Returns: The revision that has it.
    func add(_ contact: Contact) throws -> Int64 {
        try told(contact.id, try store.add(contact))
    }

    /// Writes some fields of a contact.
    ///
    /// - Returns: The revision that has them.
    func change(_ id: String, _ edit: ContactEdit) throws -> Int64 {
        try told(id, try store.change(id, edit))
    }

    /// Removes a contact.
    ///
    /// - Returns: The revision that does not have it.
    func remove(_ id: String) throws -> Int64 {
        try told(id, try store.remove(id))
    }

    private func told(_ id: String, _ outcome: ContactStore.Outcome) throws -> Int64 {
        switch outcome {
        case .done:
            let people = try store.people()
            try tell(people, on: Self.channel)
            try tell(try store.contact(id), on: "\(Self.channel)-\(id)")
            return people.revision
        case .alreadyDone: return try store.people().revision
        case .noSuchContact:
            throw RequestError.refused(404, "This contact is not there any more.")
        case .full:
            throw RequestError.refused(
                409,
                "The book is full: it takes \(ContactStore.contactCountMax) contacts at most."
            )
        }
    }

    private func tell(_ snapshot: Snapshot<some Encodable & Sendable>, on channel: String) throws {
        var data = try JSONText.encode(snapshot)
        if data.utf8.count > Self.eventLengthMax {
            data = try JSONText.encode(["revision": snapshot.revision])
        }
        // Whoever has a snapshot already is not misled when it comes again.
        outbox.post(Announcement(Self.event, on: channel, data: data, isRepeatable: true))
    }
}
