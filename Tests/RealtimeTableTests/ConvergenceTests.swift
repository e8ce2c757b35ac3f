import Foundation
import TestRandom
import TestSite
import Testing

@testable import DemoSite
@testable import RealtimeTable

/// Whoever replays the events, by index as old apps do, has the list of the database.
@Suite("Convergence") struct ConvergenceTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func eventsReplayedByIndexGiveTheDatabasesOrder(seed: UInt64) async throws {
        let recorder = Recorder()
        let outbox = Outbox(trigger: recorder) { _ in }
        let users = UserList(
            store: try UserStore(database: [.createUsers].open(nil)),
            outbox: outbox
        )

        await withTaskGroup(of: Void.self) { group in
            for device in 0..<4 {
                group.addTask {
                    var random = SeededRandom(seed: seed &* 1_000 &+ UInt64(device))
                    for _ in 0..<60 { await act(on: users, device: "\(device)", &random) }
                }
            }
        }
        await outbox.close()

        let replayed = try recorder.events.reduce(into: [Int64(1)]) { try replay($1, on: &$0) }
        #expect(try await users.users().map(\.id) == replayed)
    }

    /// One change, decided from a list that another device may have changed meanwhile.
    private func act(on users: UserList, device: String, _ random: inout SeededRandom) async {
        guard let seen = try? await users.users() else { return }
        await Task.yield()
        let choice = Int.random(in: 0..<4, using: &random)
        guard choice > 0, let source = seen.indices.randomElement(using: &random),
            let destination = seen.indices.randomElement(using: &random)
        else {
            _ = try? await users.add(name: "User", deviceID: device)
            return
        }
        let move = Move(
            sourceIndex: source,
            destinationIndex: destination,
            sourceID: seen[source].id,
            destinationID: seen[destination].id
        )
        // A row may be gone by now: then the change is refused, and there is no event.
        if choice == 1 {
            _ = try? await users.remove(id: seen[source].id, deviceID: device)
        } else {
            _ = try? await users.move(move, deviceID: device)
        }
    }

    private func replay(_ event: Recorder.Event, on ids: inout [Int64]) throws {
        let data = try JSONDecoder().decode(EventData.self, from: Data(event.data.utf8))
        switch event.name {
        case "addUser": ids.append(try #require(data.id))
        case "removeUser":
            let index = try #require(data.index)
            #expect(ids.remove(at: index) == data.id)
        default:
            let source = try #require(data.src)
            let destination = try #require(data.dest)
            #expect(ids[source] == data.src_id)
            #expect(ids[destination] == data.dest_id)
            ids.insert(ids.remove(at: source), at: destination)
        }
    }
}

private struct EventData: Decodable {
    var id: Int64?
    var index: Int?
    var src: Int?
    var dest: Int?
    var src_id: Int64?
    var dest_id: Int64?
}
