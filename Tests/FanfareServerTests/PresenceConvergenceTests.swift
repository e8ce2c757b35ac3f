import Testing
import TestRandom

@testable import FanfareServer

/// One of a user's devices, and the list of members from its notices.
private struct Device {
    let user: String
    var client: WebSocketWire?
    var socketID = ""
    var isJoined = false
    private(set) var members: Set<String>?

    init(user: String) { self.user = user }

    /// Processes a message; a repeated notice, or the departure of an unknown member, is an error.
    mutating func receive(_ text: String) throws {
        if text.contains("subscription_succeeded") {
            members = Set(try client?.presentUsers(text) ?? [])
        } else if let notice = text.firstMatch(of: /member_added.*\\"user_id\\":\\"([^\\]*)\\"/) {
            let isNew = members?.insert(String(notice.1)).inserted
            #expect(isNew == true, "\(user) got a notice twice, or before the list: \(text)")
        } else if let notice = text.firstMatch(of: /member_removed.*\\"user_id\\":\\"([^\\]*)\\"/) {
            let known = members?.remove(String(notice.1))
            #expect(known != nil, "\(user) got the departure of an unknown member: \(text)")
        }
    }

    mutating func forget() { members = nil }
}

@Suite("Presence under concurrent changes") struct PresenceConvergenceTests {
    /// Clients do not wait for answers, so that grants, notices and departures cross on the links.
    @Test(
        "Every subscriber's list is the server's",
        arguments: [(1, 1), (2, 2), (2, 3), (3, 4), (3, 5), (3, 6)] as [(Int, UInt64)]
    )
    func converges(loops: Int, seed: UInt64) async throws {
        try await TestBroker.run(loops: loops) { broker in
            var random = SeededRandom(seed: seed)
            let channel = "presence-\(seed)"
            var devices = (0..<15).map { Device(user: "user-\($0 / 3)") }
            for _ in 0..<300 {
                let index = Int.random(in: 0..<devices.count, using: &random)
                try await act(on: &devices[index], channel, broker, &random)
            }
            let watcher = devices.startIndex
            try await open(&devices[watcher], broker)
            if !devices[watcher].isJoined { try join(&devices[watcher], channel) }
            // All that was sent is processed, and the closed connections are removed.
            for index in devices.indices {
                try devices[index].client?.send(#"{"event":"pusher:ping"}"#)
                try await listen(&devices[index], until: "pusher:pong")
            }
            let openCount = devices.count { $0.client != nil }
            try await eventually { await broker.server.connectionCount == openCount }
            // The event follows all notices of the channel: a client that has it has them.
            _ = try await broker.trigger("the-end", "1", on: channel)
            let users = Set(try await broker.users(of: channel))
            #expect(users == Set(devices.filter(\.isJoined).map(\.user)))
            for index in devices.indices where devices[index].isJoined {
                try await listen(&devices[index], until: "the-end")
                #expect(devices[index].members == users)
            }
        }
    }

    private func act(
        on device: inout Device,
        _ channel: String,
        _ broker: TestBroker,
        _ random: inout SeededRandom
    ) async throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            // Aborted: unread data is lost, and the kernel reports the end to the broker.
            device.client = nil
            (device.isJoined, device.socketID) = (false, "")
            device.forget()
        case 1..<4 where device.isJoined:
            try device.client?.unsubscribe(from: channel)
            device.isJoined = false
        default:
            try await open(&device, broker)
            if !device.isJoined { try join(&device, channel) }
        }
    }

    private func open(_ device: inout Device, _ broker: TestBroker) async throws {
        guard device.client == nil else { return }
        (device.client, device.socketID) = try await broker.connected()
    }

    private func join(_ device: inout Device, _ channel: String) throws {
        let data = #"{"user_id":"\#(device.user)"}"#
        try device.client?.send(
            subscribeMessage(to: channel, socketID: device.socketID, data: data)
        )
        device.isJoined = true
    }

    private func listen(_ device: inout Device, until end: String) async throws {
        while let client = device.client {
            let text = try await client.nextText()
            if text.contains(end) { return }
            try device.receive(text)
        }
    }
}
