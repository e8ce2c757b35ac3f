import Foundation
import LiveRows
import Testing

@testable import LiveCollections

@Suite("Snapshots with rows that cannot be read", .timeLimit(.minutes(2))) @MainActor
struct SnapshotCodingTests {
    private func decode(_ json: String) throws -> ListSnapshot<Player> {
        try JSONDecoder().decode(ListSnapshot<Player>.self, from: Data(json.utf8))
    }

    @Test("The other rows are kept; each omitted one has its index, its id and the reason")
    func omits() throws {
        let snapshot = try decode(
            #"""
            {"revision":5,"rows":[{"id":1,"name":"a"},{"id":2},{"id":3,"name":"c"},{"id":4,"name":5},
            {"id":"x","name":"b"},null,{"id":6,"name":null}]}
            """#
        )
        #expect(snapshot.revision == 5)
        #expect(snapshot.rows == [Player(1, "a"), Player(3, "c")])
        #expect(
            snapshot.omittedRows.map(\.description) == [
                #"row 1 with id 2: "name" is missing"#,
                #"row 3 with id 4: "name" is not a String"#,
                #"row 4 with id x: "id" is not a Int"#,
                "row 5: it is null",
                #"row 6 with id 6: "name" is null"#,
            ]
        )
    }

    @Test("If no row can be read, the snapshot is an error: the type is another one")
    func allUnreadable() {
        #expect(throws: DecodingError.self) {
            try decode(#"{"revision":5,"rows":[{"key":1},{"key":2}]}"#)
        }
    }

    @Test("Omitted rows are not encoded", arguments: [0, 1, 2])
    func roundTrip(count: Int) throws {
        var snapshot = ListSnapshot(revision: 7, rows: (0..<count).map { Player($0) })
        snapshot.omittedRows = [OmittedRow(index: 3, id: nil, reason: "it is null")]
        let json = try JSONEncoder().encode(snapshot)
        snapshot.omittedRows = []
        #expect(try JSONDecoder().decode(ListSnapshot<Player>.self, from: json) == snapshot)
        #expect(!String(decoding: json, as: UTF8.self).contains("omitted"))
    }

    @Test("A list with an omitted row is live, and reports it once")
    func list() async throws {
        let source = ScriptedSource()
        let list = try await source.liveList()
        var errors: [any Error] = []
        list.observeErrors { errors.append($0) }
        let omitted = OmittedRow(index: 1, id: "2", reason: #""name" is missing"#)
        for revision in [6, 7] as [UInt64] {
            await source.say(.subscribed)
            try await until { source.fetchCount == 1 }
            var snapshot = ListSnapshot(revision: revision, rows: [Player(1)])
            snapshot.omittedRows = [omitted]
            source.answerFetch(.success(snapshot))
            try await until { list.revision == revision && list.state.isLive }
        }
        #expect(list.omittedRows == [omitted])
        #expect(
            errors.map { $0 as? LiveListError } == [.unreadableRows(count: 1, first: omitted)]
        )
        await source.say(.subscribed)
        try await until { source.fetchCount == 1 }
        source.answerFetch(8, [Player(1), Player(2)])
        try await until { list.revision == 8 }
        #expect(list.omittedRows.isEmpty)
    }
}
