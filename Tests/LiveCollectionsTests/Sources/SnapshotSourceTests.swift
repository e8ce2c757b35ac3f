import FanfareClient
import LiveCollections
import LiveRows
import Synchronization
import Testing

@Suite("Sources of snapshots") @MainActor struct SnapshotSourceTests {
    @Test("Each snapshot is compared by id, and updates the rows that differ")
    func compares() async throws {
        let (snapshots, continuation) = AsyncThrowingStream<[Player], any Error>.makeStream()
        let list = LiveList(SnapshotSource<Player>(snapshots: { snapshots }))
        continuation.yield([Player(1), Player(2), Player(3)])
        try await until { list.state.isLive }
        var updates: [RowChanges] = []
        let observation = list.observe { updates.append($0.changes) }
        continuation.yield([Player(3), Player(1), Player(2, "two"), Player(4)])
        try await until { updates.count == 2 }
        #expect(
            updates[1]
                == RowChanges(
                    inserts: [3],
                    moves: [RowChanges.Move(from: 2, to: 0)],
                    updates: [2]
                )
        )
        observation.cancel()
    }

    @Test(
        "A snapshot with two rows of one id is reported, the rows stay, and the next one mends it"
    )
    func duplicates() async throws {
        let (snapshots, continuation) = AsyncThrowingStream<[Player], any Error>.makeStream()
        let list = LiveList(SnapshotSource<Player>(snapshots: { snapshots }))
        continuation.yield([Player(1)])
        try await until { list.state.isLive }
        continuation.yield([Player(2), Player(2)])
        try await until { list.state.error is DuplicateRow }
        #expect(Array(list.rows) == [Player(1)])
        continuation.yield([Player(2)])
        try await until { list.state.isLive }
        #expect(Array(list.rows) == [Player(2)])
    }

    @Test("Without a commit closure the list is read-only: an edit is reverted")
    func readOnly() async throws {
        let source = SnapshotSource<Player>(snapshots: {
            AsyncThrowingStream { $0.yield([Player(1)]) }
        })
        let list = LiveList(source)
        try await until { list.state.isLive }
        await #expect(throws: LiveListError.readOnly) {
            try await list.edit { $0.remove(1) }.confirmed()
        }
        #expect(list.rows.count == 1)
    }

    @Test("An edit is shown until a snapshot contains it")
    func commits() async throws {
        let (snapshots, continuation) = AsyncThrowingStream<[Player], any Error>.makeStream()
        let stored = Mutex([Player(1), Player(2)])
        let source = SnapshotSource<Player>(
            commit: { commit in
                stored.withLock { rows in
                    for operation in commit.operations { rows.removeAll { $0.id == operation.id } }
                }
            },
            snapshots: { snapshots }
        )
        let list = LiveList(source)
        continuation.yield(stored.withLock { $0 })
        try await until { list.state.isLive }
        try await list.edit { $0.remove(1) }.confirmed()
        #expect(list.rows.map(\.id) == [2])
        #expect(list.pendingEditCount == 0)
        continuation.yield(stored.withLock { $0 } + [Player(3)])
        try await until { list.rows.count == 2 }
        #expect(list.rows.map(\.id) == [2, 3])
    }

    @Test("A failed sequence of snapshots is reported and restarted")
    func failure() async throws {
        let attempts = Mutex(0)
        let source = SnapshotSource<Player>(snapshots: {
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            return AsyncThrowingStream { continuation in
                continuation.yield([Player(attempt)])
                if attempt == 1 { continuation.finish(throwing: Late()) }
            }
        })
        let list = LiveList(source, options: impatient)
        try await until { list.rows.map(\.id) == [2] }
        #expect(list.state.isLive)
    }
}
