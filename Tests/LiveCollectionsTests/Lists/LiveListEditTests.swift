import Dispatch
import FanfareClient
import LiveRows
import Testing

@testable import LiveCollections

@Suite("Edits of live lists") @MainActor struct LiveListEditTests {
    private let source = ScriptedSource()

    private func liveList(_ options: ListOptions = impatient) async throws -> LiveList<Player> {
        try await source.liveList(options)
    }

    private func change(
        _ revision: UInt64,
        _ operations: ListOperation<Player>...,
        mutation: String? = nil
    ) -> SourceEvent<Player> {
        .change(ListChange(revision: revision, mutation: mutation, operations: operations))
    }

    private func ids(_ list: LiveList<Player>) -> [Int] { list.rows.map(\.id) }

    @Test(
        "An edit shows at once as one batch, is handed in under one name, and its echo confirms it"
    )
    func optimisticEdit() async throws {
        let list = try await liveList()
        var changes: [RowChanges] = []
        let observation = list.observe { changes.append($0.changes) }
        let edit = list.edit { editor in
            for id in 4...6 { editor.append(Player(id)) }
            editor.removeFirst(3)
        }
        #expect(ids(list) == [4, 5, 6])
        #expect(changes.last == RowChanges(deletes: [0, 1, 2], inserts: [0, 1, 2]))
        #expect(list.pendingEditCount == 1)
        try await until { source.commits.count == 1 }
        #expect(source.commits[0].mutation == edit.mutation)
        #expect(source.commits[0].operations.count == 6)
        let told = changes.count
        await source.say(
            .change(
                ListChange(
                    revision: 6,
                    mutation: edit.mutation,
                    operations: source.commits[0].operations
                )
            )
        )
        try await edit.confirmed()
        #expect(edit.isConfirmed)
        #expect(list.pendingEditCount == 0)
        #expect(changes.count == told, "the echo of what is shown changes nothing")
        source.answerCommit(.success(6))
        observation.cancel()
    }

    @Test("A pending edit that sets a member keeps what others change in the row meanwhile")
    func rebasedMembers() async throws {
        struct Errand: Codable, Identifiable, Equatable {
            var id = 1
            var title = "Milk"
            var isDone = false
        }
        var replica = ListReplica<Errand>(options: ListOptions())
        _ = replica.arrived(ListSnapshot(revision: 5, rows: [Errand()]))
        var editor = replica.editor()
        editor.update(1) { $0.title = "Oat milk" }
        _ = replica.commit(editor, mutation: "m")
        _ = replica.changed(
            ListChange(revision: 6, mutation: nil, operations: [.update(Errand(isDone: true))])
        )
        #expect(Array(replica.rows) == [Errand(title: "Oat milk", isDone: true)])
        _ = replica.arrived(ListSnapshot(revision: 7, rows: [Errand(title: "?", isDone: true)]))
        #expect(Array(replica.rows) == [Errand(title: "Oat milk", isDone: true)])
        _ = replica.refused("m", LiveListError.readOnly)
        #expect(Array(replica.rows) == [Errand(title: "?", isDone: true)])
    }

    @Test("A refused edit is reverted, and the error is reported")
    func refusedEdit() async throws {
        let list = try await liveList()
        var refused: [RefusedEdit<Player>] = []
        let observation = list.observeRefusals { refused.append($0) }
        let edit = list.edit { $0.remove(2) }
        let later = list.edit { $0.append(Player(9)) }
        #expect(ids(list) == [1, 3, 9])
        try await until { source.commits.count == 1 }
        source.answerCommit(.failure(LiveListError.refused(reason: "2 is the captain")))
        await #expect(throws: LiveListError.refused(reason: "2 is the captain")) {
            try await edit.confirmed()
        }
        #expect(ids(list) == [1, 2, 3, 9], "the later edit stays")
        #expect(refused.map(\.commit.operations) == [[.remove(2)]])
        try await until { source.commits.count == 1 }
        source.answerCommit(.success(6))
        try await later.confirmed()
        await source.say(change(6, .put(Player(9), after: 3), mutation: later.mutation))
        try await until { list.revision == 6 }
        #expect(ids(list) == [1, 2, 3, 9])
        observation.cancel()
    }

    @Test("A commit without an answer is sent again with the same identifier")
    func retriesCommit() async throws {
        let list = try await liveList()
        let edit = list.edit { $0.remove(1) }
        for _ in 0..<3 {
            try await until { source.commits.count == 1 }
            #expect(source.commits[0].mutation == edit.mutation)
            source.answerCommit(.failure(Late()))
        }
        try await until { source.commits.count == 1 }
        source.answerCommit(.success(6))
        try await edit.confirmed()
        #expect(ids(list) == [2, 3])
    }

    @Test("Edits are sent one at a time, on top of concurrent changes")
    func concurrentEdits() async throws {
        let list = try await liveList()
        list.edit { $0.update(2) { $0.name = "mine" } }
        list.edit { $0.move(2, after: nil) }
        try await until { source.commits.count == 1 }
        #expect(source.commits[0].operations == [.set(Player(2, "mine"), members: ["name"])])
        await source.say(change(6, .update(Player(2, "theirs")), .move(2, after: 3)))
        try await until { list.revision == 6 }
        #expect(list.rows == [Player(2, "mine"), Player(1), Player(3)])
        // The last in the writer's order wins, once the writer has decided.
        source.answerCommit(.failure(LiveListError.refused(reason: "too late")))
        try await until { list.rows.first == Player(2, "theirs") }
        try await until { source.commits.count == 1 }
        #expect(source.commits[0].operations == [.move(2, after: nil)])
    }

    @Test("An edit that waits for a retry is sent immediately when the network is back")
    func sendsAgain() async throws {
        var options = impatient
        options.backoff = .init(floor: .seconds(60), window: .zero, cap: .seconds(60))
        let list = try await liveList(options)
        let edit = list.edit { $0.remove(1) }
        try await until { source.commits.count == 1 }
        source.answerCommit(.failure(Late()))
        try await until { source.commits.isEmpty }
        while source.commits.isEmpty {
            await source.say(.subscribed)
            try await Task.sleep(for: .milliseconds(2))
        }
        #expect(source.commits[0].mutation == edit.mutation)
        source.answerCommit(.success(6))
        try await edit.confirmed()
        try await until { source.fetchCount > 0 }
        while source.fetchCount > 0 { source.answerFetch(6, [Player(2), Player(3)]) }
    }

    @Test("An edit without effect is not sent")
    func emptyEdit() async throws {
        let list = try await liveList()
        let edit = list.edit { editor in
            editor.move(1, after: nil)
            editor.remove(77)
            editor.update(Player(1))
        }
        #expect(edit.mutation == nil)
        try await edit.confirmed()
        #expect(list.pendingEditCount == 0)
    }

    @Test("Rows are edited by the indices of a table view")
    func editsByPlaces() async throws {
        let list = try await liveList()
        list.edit { $0.move(from: 0, to: 2) }
        #expect(ids(list) == [2, 3, 1])
        list.edit { $0.move(from: 2, to: 1) }
        #expect(ids(list) == [2, 1, 3])
        list.edit { $0.insert(Player(4), at: 0) }
        list.edit { $0.insert(Player(5), at: 99) }
        #expect(ids(list) == [4, 2, 1, 3, 5])
        list.edit { $0.remove(at: 1) }
        list.edit { $0.remove(at: 9) }
        list.edit { $0.insert(Player(5, "five"), at: 1) }
        #expect(ids(list) == [4, 5, 1, 3])
        #expect(list.rows[1].name == "five")
    }

    @Test("Rows are removed and moved by the offsets that SwiftUI gives", arguments: 0..<16)
    func offsets(selection: Int) throws {
        let players = (0..<4).map { Player($0) }
        let offsets = (0..<4).filter { selection & 1 << $0 != 0 }
        let (chosen, others) = (offsets, (0..<4).filter { !offsets.contains($0) })
        var editor = try ListEditor(KeyedRows(players))
        editor.remove(atOffsets: offsets + [9])
        #expect(editor.rows.map(\.id) == others)
        for target in 0...4 {
            editor = try ListEditor(KeyedRows(players))
            editor.move(fromOffsets: offsets, toOffset: target)
            let expected =
                others.filter { $0 < target } + chosen + others.filter { $0 >= target }
            #expect(editor.rows.map(\.id) == expected, "to \(target)")
        }
    }

    @Test("An edit by an observer is delivered afterwards, in order")
    func editInObserver() async throws {
        let list = try await liveList()
        var counts: [Int] = []
        let observation = list.observe { update in
            counts.append(update.rows.count)
            if update.rows.count == 2 { list.edit { $0.append(Player(8)) } }
        }
        list.edit { $0.remove(1) }
        #expect(counts == [3, 2, 3])
        observation.cancel()
    }

    @Test("An edit beyond the limits of unconfirmed edits, operations or rows is refused")
    func limits() async throws {
        var options = impatient
        options.pendingEditsMax = 2
        options.operationsMax = 3
        options.rowsMax = 4
        let list = try await liveList(options)
        await #expect(throws: LiveListError.tooManyRows(count: 5, limit: 4)) {
            try await list.edit { for id in 8...9 { $0.append(Player(id)) } }.confirmed()
        }
        await #expect(throws: LiveListError.tooManyOperations(count: 4, limit: 3)) {
            try await list.edit { for n in 1...4 { $0.update(Player(1, "\(n)")) } }.confirmed()
        }
        list.edit { $0.remove(1) }
        list.edit { $0.remove(2) }
        await #expect(throws: LiveListError.tooManyPendingEdits(limit: 2)) {
            try await list.edit { $0.remove(3) }.confirmed()
        }
        #expect(ids(list) == [3])
        #expect(
            LiveListError.tooManyPendingEdits(limit: 2).description.contains(
                "2 edits are unconfirmed"
            )
        )
    }
}
