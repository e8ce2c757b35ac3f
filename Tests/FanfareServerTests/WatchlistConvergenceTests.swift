import Broker
import BrokerConfiguration
import TestRandom
import Testing

@testable import FanfareServer

/// A user with a watchlist, and the status of the watched users from its events.
private struct Observer {
    let client: WebSocketWire
    private(set) var online: [String: Bool] = [:]

    init(_ client: WebSocketWire) { self.client = client }

    /// Processes a message; a repeated status is an error.
    mutating func receive(_ text: String) {
        #expect(text.hasPrefix(#"{"event":"pusher_internal:watchlist_events""#), "\(text)")
        for group in text.matches(of: /"name":"(online|offline)","user_ids":\[(.*?)\]/) {
            for user in String(group.2).split(separator: ",").map({
                String($0.filter { $0 != "\"" })
            }) {
                #expect(
                    online[user] != (group.1 == "online"),
                    "\(user) got a status twice: \(text)"
                )
                online[user] = group.1 == "online"
            }
        }
    }

    /// Processes messages until the status matches and no more arrive.
    mutating func listen(until truth: [String: Bool]) async throws {
        repeat {
            while online != truth { receive(try await client.nextText()) }
            try client.send(#"{"event":"pusher:ping"}"#)
            while case let text = try await client.nextText(), !text.contains("pusher:pong") {
                receive(text)
            }
        } while online != truth
    }
}

@Suite("Watchlists under concurrent changes", .timeLimit(.minutes(1)))
struct WatchlistConvergenceTests {
    /// Clients do not wait for answers, so that sign-ins, departures and reports cross on the links.
    @Test(
        "The status of every observer converges, without repeated reports",
        arguments: [(1, 1), (3, 2), (3, 3)] as [(Int, UInt64)]
    )
    func converges(loops: Int, seed: UInt64) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].features.watchlist = true
        } _: { broker in
            var random = SeededRandom(seed: seed)
            let users = (0..<5).map { "user-\($0)" }
            var devices: [(user: String, client: WebSocketWire)] = []
            var observers: [Observer] = []
            for step in 0..<150 {
                if step % 30 == 0 {
                    let (client, socketID) = try await broker.connected()
                    try await client.signIn(
                        as: "observer-\(step)",
                        watching: users,
                        socketID: socketID
                    )
                    observers.append(Observer(client))
                }
                if devices.count < 2 || devices.count < 5 && Bool.random(using: &random) {
                    let user = users[Int.random(in: 0..<users.count, using: &random)]
                    let (client, socketID) = try await broker.connected()
                    try client.send(signInMessage(#"{"id":"\#(user)"}"#, socketID: socketID))
                    devices.append((user, client))
                } else {
                    // Closed with unread data.
                    devices.remove(at: Int.random(in: 0..<devices.count, using: &random))
                }
            }
            let present = Set(devices.map(\.user))
            let truth = Dictionary(uniqueKeysWithValues: users.map { ($0, present.contains($0)) })
            for index in observers.indices {
                try await observers[index].listen(until: truth)
            }
        }
    }
}
