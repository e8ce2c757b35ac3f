import Foundation
import HTTP1
import TestRandom
import TestSite
import Testing

@testable import DemoSite
@testable import RealtimeTable
import LiveRows

/// Tutorial clients and live-list clients edit the list at the same time.
///
/// Replaying the events, by index as tutorial clients or by anchor as live lists, results in the list of the database.
@Suite("Convergence") struct ConvergenceTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func eventsReplayedEitherWayGiveTheDatabasesOrder(seed: UInt64) async throws {
        let site = try await SiteProbe(RealtimeTable.demo)
        var byIndex = try await snapshot(of: site).rows
        try await withThrowingTaskGroup(of: Void.self) { group in
            for device in 0..<4 {
                group.addTask {
                    var random = SeededRandom(seed: seed &* 1_000 &+ UInt64(device))
                    for _ in 0..<60 {
                        let isOld = device.isMultiple(of: 2)
                        try await (isOld ? actAsTutorialClient : actAsLiveList)(site, &random)
                    }
                }
            }
            try await group.waitForAll()
        }
        let list = try await snapshot(of: site)
        let events = await site.events()

        var byAnchor = ListOrder(byIndex) { _ in .some(nil) }
        var revision: Int64 = 0
        for event in events {
            guard event.name == "list_changed" else {
                try replay(event, on: &byIndex)
                continue
            }
            // All tutorial events of the previous commit have arrived by now.
            #expect(byIndex == byAnchor.rows)
            let change = try JSONDecoder().decode(
                ListChange<User>.self,
                from: Data(event.data.utf8)
            )
            revision += 1
            #expect(change.revision == revision)
            for operation in change.operations {
                // Published operations were applied, so every row and anchor exists in the replay.
                #expect(try byAnchor.apply(operation) == operation)
            }
        }
        #expect(byIndex == list.rows)
        #expect(byAnchor.rows == list.rows)
        #expect(revision == list.revision)
    }

    private func snapshot(of site: SiteProbe) async throws -> ListSnapshot<User> {
        let body = try await site.answer(.get, "/table/rows").body
        return try JSONDecoder().decode(ListSnapshot<User>.self, from: Data(body.utf8))
    }

    /// One change by index, based on a list that another device may have changed meanwhile.
    @Sendable private func actAsTutorialClient(
        _ site: SiteProbe,
        _ random: inout SeededRandom
    ) async throws {
        let seen = try await snapshot(of: site).rows
        let choice = Int.random(in: 0..<4, using: &random)
        let (path, fields): (String, String)
        if choice > 0, let source = seen.indices.randomElement(using: &random),
            let destination = seen.indices.randomElement(using: &random)
        {
            let (moved, anchor) = (seen[source].id, seen[destination].id)
            (path, fields) =
                choice == 1
                ? ("/delete", "id=\(moved)&index=\(source)")
                : ("/move", "src=\(source)&dest=\(destination)&src_id=\(moved)&dest_id=\(anchor)")
        } else {
            (path, fields) = ("/add", "name=Old")
        }
        // A row may have been removed: then the change is refused, without an event.
        let status = try await site.answer(.post, path, fields + "&deviceId=old").status
        #expect([200, 404].contains(status))
    }

    /// One commit of up to three operations by anchors, which may have been removed.
    @Sendable private func actAsLiveList(
        _ site: SiteProbe,
        _ random: inout SeededRandom
    ) async throws {
        let seen = try await snapshot(of: site).rows
        let operations: [ListOperation<User>] = (0..<Int.random(in: 1...3, using: &random)).map {
            _ in
            let anchor = Bool.random(using: &random) ? seen.randomElement(using: &random)?.id : nil
            guard let row = seen.randomElement(using: &random) else {
                return .put(User(id: .newRowID(), name: "First"), after: nil)
            }
            return switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: .put(User(id: .newRowID(), name: "New"), after: anchor)
            case 2: .put(User(id: row.id, name: "Put again"), after: anchor)
            case 3: .update(User(id: row.id, name: "Changed"))
            case 4: .remove(row.id)
            default: .move(row.id, after: anchor)
            }
        }
        let body = #"{"mutation":"\#(UUID())","operations":\#(try JSONText.encode(operations))}"#
        #expect(try await site.answer(.post, "/table/rows/operations", body).status == 200)
    }

    private func replay(_ event: Recorder.Event, on rows: inout [User]) throws {
        let data = try JSONDecoder().decode(OldEvent.self, from: Data(event.data.utf8))
        switch event.name {
        case "addUser":
            rows.append(User(id: try #require(data.id), name: try #require(data.name)))
        case "removeUser":
            let index = try #require(data.index)
            try #require(rows.indices.contains(index))
            #expect(rows.remove(at: index).id == data.id)
        default:
            let source = try #require(data.src)
            let destination = try #require(data.dest)
            try #require(rows.indices.contains(source) && rows.indices.contains(destination))
            #expect(rows[source].id == data.src_id)
            #expect(rows[destination].id == data.dest_id)
            rows.insert(rows.remove(at: source), at: destination)
        }
    }
}

private struct OldEvent: Decodable {
    var id: Int64?
    var name: String?
    var index: Int?
    var src: Int?
    var dest: Int?
    var src_id: Int64?
    var dest_id: Int64?
}
