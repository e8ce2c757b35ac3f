import DemoSite
import HTTP1

/// The one writer of the list: changes it and announces each change, in the order of the commits.
actor UserList {
    private let store: UserStore
    private let outbox: Outbox

    init(store: UserStore, outbox: Outbox) {
        self.store = store
        self.outbox = outbox
    }

    // None of these methods suspends: between a commit and its announcement no other change can slip in.

    func users() throws -> [User] {
        try store.users()
    }

    func add(name: String, deviceID: String) throws -> TableChange {
        guard let id = try store.add(name: name) else {
            throw RequestError.refused(
                409,
                "The list is full: it takes \(UserStore.userCountMax) users at most."
            )
        }
        return try announce(.added(name: name, id: id, deviceID: deviceID))
    }

    func remove(id: Int64, deviceID: String) throws -> TableChange {
        guard let index = try store.remove(id: id) else { throw Self.unknownUser(id) }
        return try announce(.removed(id: id, index: index, deviceID: deviceID))
    }

    func move(_ request: Move, deviceID: String) throws -> TableChange {
        guard let move = try store.move(request) else {
            throw Self.unknownUser(request.sourceID)
        }
        return try announce(.moved(move, deviceID: deviceID))
    }

    private func announce(_ change: TableChange) throws -> TableChange {
        outbox.post(
            Announcement(
                change.event,
                on: TableChange.channel,
                data: try JSONText.encode(change)
            )
        )
        return change
    }

    private static func unknownUser(_ id: Int64) -> RequestError {
        .refused(404, "There is no user with the id \(id).")
    }
}
