import PusherProtocol

/// The sessions of one app, by key.
///
/// Parked ones are many and small, so they are not in a dictionary; see ``KeyedIndices``.
struct SessionTable: Sendable {
    private var entries: [(key: SessionKey, session: SessionHome.Session)?] = []
    private var freeIndices: [Int32] = []
    private var indices = KeyedIndices<SessionKey>()

    /// Whether there is no session.
    var isEmpty: Bool { indices.isEmpty }

    /// The number of sessions.
    var count: Int { indices.count }

    /// The sessions, in no particular order.
    var all: some Sequence<(key: SessionKey, session: SessionHome.Session)> {
        entries.lazy.compactMap(\.self)
    }

    /// The session with a key; `nil` if there is none.
    subscript(key: SessionKey) -> SessionHome.Session? {
        get { index(of: key).flatMap { entries[$0]?.session } }
        set {
            switch (index(of: key), newValue) {
            case (let index?, let session?): entries[index]?.session = session
            case (let index?, nil): remove(key, at: index)
            case (nil, let session?): insert(key, session)
            case (nil, nil): break
            }
        }
    }

    private func index(of key: SessionKey) -> Int? { indices.index(of: key) { entries[$0]?.key } }

    private mutating func insert(_ key: SessionKey, _ session: SessionHome.Session) {
        let index = freeIndices.popLast().map(Int.init) ?? entries.count
        if index == entries.count { entries.append(nil) }
        entries[index] = (key, session)
        indices.insert(index) { entries[$0]?.key }
    }

    private mutating func remove(_ key: SessionKey, at index: Int) {
        indices.remove(key) { entries[$0]?.key }
        entries[index] = nil
        freeIndices.append(Int32(index))
        // Releases the memory after a peak.
        if isEmpty { self = SessionTable() }
    }
}
