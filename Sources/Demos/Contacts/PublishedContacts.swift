import DemoSite
import GRDB
import HTTP1

/// The single writer of the contacts; it publishes a new snapshot after each change.
///
/// There are two kinds of models: all people, on the channel `contacts`, and one contact, on `contacts-ID`. The event
/// `snapshot` contains `{"revision": 7, "model": …}`. A model that is too large for an event is omitted, and clients
/// fetch it.
actor PublishedContacts {
    /// The channel of the model of all people.
    static let channel = "contacts"
    /// The event for a new snapshot.
    static let event = "snapshot"
    /// The maximum length of an event with its model, in bytes; all brokers of the protocol accept at least 10 KiB.
    static let eventLengthMax = 8_000

    private let store: ContactStore
    private let outbox: Outbox

    init(store: ContactStore, outbox: Outbox) {
        self.store = store
        self.outbox = outbox
    }

    func people() throws -> Snapshot<[Person]> { try store.people() }

    func contact(_ id: String) throws -> Snapshot<Contact> { try store.contact(id) }

    /// Adds a contact, and returns the revision that contains it.
    func add(_ contact: Contact) throws -> Int64 {
        try revision(after: store.add(contact) { try publish(contact.id, $0) })
    }

    /// Writes some fields of a contact, and returns the revision that contains them.
    func change(_ id: String, _ edit: ContactEdit) throws -> Int64 {
        try revision(after: store.change(id, edit) { try publish(id, $0) })
    }

    /// Removes a contact, and returns the revision without it.
    func remove(_ id: String) throws -> Int64 {
        try revision(after: store.remove(id) { try publish(id, $0) })
    }

    private func revision(after outcome: ContactStore.Outcome) throws -> Int64 {
        switch outcome {
        case .done, .alreadyDone: return try store.people().revision
        case .noSuchContact:
            throw RequestError.refused(404, "This contact no longer exists.")
        case .full:
            throw RequestError.refused(
                409,
                "The book is full: the limit is \(ContactStore.contactCountMax) contacts."
            )
        }
    }

    private func publish(_ id: String, _ database: Database) throws {
        try post(ContactStore.people(database), on: Self.channel, database)
        try post(ContactStore.contact(id, database), on: "\(Self.channel)-\(id)", database)
    }

    private func post(
        _ snapshot: Snapshot<some Encodable & Sendable>,
        on channel: String,
        _ database: Database
    ) throws {
        var data = try JSONText.encode(snapshot)
        if data.utf8.count > Self.eventLengthMax {
            data = try JSONText.encode(["revision": snapshot.revision])
        }
        try outbox.post(OutgoingEvent(Self.event, on: channel, data: data), in: database)
    }
}
