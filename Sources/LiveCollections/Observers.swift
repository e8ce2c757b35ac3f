import FanfareClient

/// The callbacks for one kind of update, in the order of registration.
@MainActor final class Observers<Update: Sendable> {
    private struct Entry {
        let token: ListenerToken
        let perform: (Update) -> Void
    }

    private var entries: [Entry] = []

    nonisolated init() {}

    var isEmpty: Bool { entries.isEmpty }

    /// Adds a callback.
    func add(_ perform: @escaping (Update) -> Void) -> ListenerToken {
        let token = ListenerToken { [weak self] token in
            // A token may be cancelled on any thread.
            Task { @MainActor in self?.entries.removeAll { $0.token === token } }
        }
        entries.append(Entry(token: token, perform: perform))
        return token
    }

    /// Calls the callbacks; a callback that cancels another one ends it at once.
    func send(_ update: Update) {
        for entry in entries where entry.token.isActive { entry.perform(update) }
    }
}
