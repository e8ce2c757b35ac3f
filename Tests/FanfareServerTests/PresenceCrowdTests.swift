import Broker
import BrokerConfiguration
import Glibc
import Testing
import TestRandom

@testable import FanfareServer

/// One of a user's devices, and the list of members from its notices.
///
/// It compares only the prefixes of messages, which are the same for all of a channel: there are very many.
private struct Device {
    let user: String
    var client: WebSocketWire?
    var socketID = ""
    var isJoined = false
    private(set) var members: Set<Substring>?
    /// The number of notices it got.
    private(set) var noticeCount = 0

    init(user: String) { self.user = user }

    /// Closes the connection by a reset.
    mutating func abort() { (client, isJoined, members) = (nil, false, nil) }

    /// Processes messages up to one that contains `end`; a repeated notice, or the departure of an unknown member, is
    /// an error.
    mutating func listen(until end: String, on channel: String) async throws {
        let added =
            #"{"event":"pusher_internal:member_added","channel":"\#(channel)","data":"{\"user_id\":\""#
        let removed =
            #"{"event":"pusher_internal:member_removed","channel":"\#(channel)","data":"{\"user_id\":\""#
        while let client {
            let text = try await client.nextText()
            if text.contains(end) { return }
            if text.hasPrefix(added) {
                noticeCount += 1
                let isNew = members?.insert(Self.id(text, behind: added)).inserted
                #expect(isNew == true, "\(user) got a notice twice, or before the list: \(text)")
            } else if text.hasPrefix(removed) {
                noticeCount += 1
                let known = members?.remove(Self.id(text, behind: removed))
                #expect(known != nil, "\(user) got the departure of an unknown member: \(text)")
            } else if text.contains("subscription_succeeded") {
                members = Set(Self.ids(text))
            } else {
                Issue.record("\(user) got: \(text)")
            }
        }
    }

    private static func id(_ text: String, behind prefix: String) -> Substring {
        text.dropFirst(prefix.count).prefix { $0 != "\\" }
    }

    /// The ids of an acknowledgement, in the order they are listed in.
    private static func ids(_ text: String) -> [Substring] {
        let list = text.split(separator: #"\"ids\":["#, maxSplits: 1).last ?? ""
        let ids = list.prefix { $0 != "]" }.split(separator: ",")
        return ids.map { $0.dropFirst(2).dropLast(2) }
    }
}

@Suite("Presence, with many users and devices") struct PresenceCrowdTests {
    /// The duration of the changes.
    ///
    /// With the environment it is longer and includes all 200 users: `PRESENCE_SECONDS=60 swift test --filter
    /// PresenceCrowdTests`.
    private static let seconds = getenv("PRESENCE_SECONDS").flatMap {
        Int(String(cString: $0))
    }

    @Test(
        "Users with three devices each join and leave in any order, and every list is the server's"
    )
    func converges() async throws {
        let userCount = Self.seconds == nil ? 40 : 200
        let end = ContinuousClock.now + .seconds(Self.seconds ?? 2)
        let channel = "presence-crowd"
        var random = SeededRandom(seed: 0x5EED_0005)
        try await TestBroker.run(loops: 2) {
            $0.apps[0].limits.membersMax = userCount
            // The list is compared with who is subscribed.
            $0.apps[0].features.presenceGrace = 0
        } _: { broker in
            var devices = (0..<3 * userCount).map { Device(user: "user-\($0 / 3)") }
            var rounds = 0
            repeat {
                for _ in 0..<devices.count {
                    let index = Int.random(in: devices.indices, using: &random)
                    try await act(on: &devices[index], channel, broker, &random)
                }
                try await compare(&devices, channel, broker)
                rounds += 1
            } while ContinuousClock.now < end
            let noticeCount = devices.reduce(0) { $0 + $1.noticeCount }
            print(
                "\(userCount) users, \(devices.count) devices: \(rounds) rounds, \(noticeCount) notices"
            )
        }
    }

    /// Clients do not wait for answers, so that grants, notices and departures cross.
    private func act(
        on device: inout Device,
        _ channel: String,
        _ broker: TestBroker,
        _ random: inout SeededRandom
    ) async throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            // Aborted: unread data is lost, and the kernel reports the end to the broker.
            device.abort()
        case 1..<5 where device.isJoined:
            try device.client?.unsubscribe(from: channel)
            device.isJoined = false
        default:
            if device.client == nil {
                (device.client, device.socketID) = try await broker.connected()
            }
            guard !device.isJoined else { return }
            let data = #"{"user_id":"\#(device.user)"}"#
            try device.client?.send(
                subscribeMessage(to: channel, socketID: device.socketID, data: data)
            )
            device.isJoined = true
        }
    }

    /// Waits until all that was sent is processed, and compares all lists with the server's.
    private func compare(
        _ devices: inout [Device],
        _ channel: String,
        _ broker: TestBroker
    ) async throws {
        for index in devices.indices {
            try devices[index].client?.send(#"{"event":"pusher:ping"}"#)
            try await devices[index].listen(until: "pusher:pong", on: channel)
        }
        let openCount = devices.count { $0.client != nil }
        try await eventually { await broker.server.connectionCount == openCount }
        // The event follows all notices of the channel: a client that has it has them.
        _ = try await broker.trigger("the-end", "1", on: channel)
        let users = Set(try await broker.users(of: channel))
        #expect(users == Set(devices.filter(\.isJoined).map(\.user)))
        for index in devices.indices where devices[index].isJoined {
            try await devices[index].listen(until: "the-end", on: channel)
            #expect(Set((devices[index].members ?? []).map(String.init)) == users)
        }
    }
}
