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
            throw RequestError.listIsFull(limit: UserStore.userCountMax)
        }
        return announce(.added(name: name, id: id, deviceID: deviceID))
    }

    func remove(id: Int64, deviceID: String) throws -> TableChange {
        guard let index = try store.remove(id: id) else { throw RequestError.unknownUser(id: id) }
        return announce(.removed(id: id, index: index, deviceID: deviceID))
    }

    func move(_ request: Move, deviceID: String) throws -> TableChange {
        guard let move = try store.move(request) else {
            throw RequestError.unknownUser(id: request.sourceID)
        }
        return announce(.moved(move, deviceID: deviceID))
    }

    private func announce(_ change: TableChange) -> TableChange {
        outbox.post(change)
        return change
    }
}
