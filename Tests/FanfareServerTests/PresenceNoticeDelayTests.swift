import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("Notices of large presence channels share their sends") struct PresenceNoticeDelayTests {
    /// A stepped broker on which every channel with two members is large.
    private func stepped(shards: Int = 1, delay: Int) throws -> SteppedBroker {
        try SteppedBroker(shards: shards) {
            $0.apps[0].features.presenceNoticeDelay = delay
            $0.apps[0].limits.membersMax = 1_000
        }
    }

    /// Connects a client, joins the channel, and returns the client when it has the list of members.
    private func join(
        _ stepped: SteppedBroker,
        as user: String,
        on shard: Int = 0
    ) throws -> (SteppedPeer, acknowledgement: String) {
        let (client, socketID) = try stepped.greetedClient(of: shard)
        let data = #"{"user_id":"\#(user)"}"#
        client.send(Frames.text(subscribeMessage(to: channel, socketID: socketID, data: data)))
        stepped.turn { client.frames.count > 0 }
        return (client, client.frames[0].text)
    }

    private let channel = "presence-large"

    /// The ids of members in the received notices.
    private func noticed(_ client: SteppedPeer) -> [String] {
        client.frames.compactMap { frame in
            frame.text.firstMatch(of: /member_(added|removed).*\\"user_id\\":\\"([^"\\]*)/)
                .map { ($0.1 == "added" ? "+" : "-") + $0.2 }
        }
    }

    @Test("The first notice is sent at once, the following ones together", arguments: [1, 2])
    func share(shards: Int) throws {
        let stepped = try stepped(shards: shards, delay: 1_000)
        let (first, _) = try join(stepped, as: "u0")
        let (second, _) = try join(stepped, as: "u1", on: shards - 1)
        stepped.settle()
        #expect(noticed(first) == ["+u1"])
        var others: [SteppedPeer] = []
        for number in 2..<8 {
            let (client, list) = try join(stepped, as: "u\(number)", on: number % shards)
            others.append(client)
            // The list of a later member is complete, with members whose notices are still delayed.
            for member in 0...number { #expect(list.contains(#"\"u\#(member)\""#)) }
        }
        others[5].close()
        stepped.settle()
        // Clients of other shards get the notices within a second as well: the delay is per channel.
        #expect(noticed(first) == ["+u1"] && noticed(second) == (shards == 1 ? [] : ["+u2"]))
        let start = ContinuousClock.now
        stepped.turn { self.noticed(first).count == 8 }
        #expect(start.duration(to: .now) < .seconds(5))
        #expect(noticed(first) == (1..<8).map { "+u\($0)" } + ["-u7"])
        stepped.turn { self.noticed(second).count == 7 }
        #expect(noticed(second) == (2..<8).map { "+u\($0)" } + ["-u7"])
        // A member that joined in between gets the later notices, each once.
        stepped.turn { self.noticed(others[2]).count == 4 }
        #expect(noticed(others[2]) == ["+u5", "+u6", "+u7", "-u7"])
    }

    @Test("No event overtakes a delayed notice", arguments: [1, 2])
    func order(shards: Int) throws {
        let stepped = try stepped(shards: shards, delay: 1_000)
        let (first, _) = try join(stepped, as: "u0", on: shards - 1)
        let others = try (1..<5).map { try join(stepped, as: "u\($0)").0 }
        stepped.settle()
        #expect(first.frames.count < 5)
        let backend = try stepped.connect()
        let body = #"{"name":"e","channels":["\#(channel)"],"data":"1"}"#
        backend.send(SignedRequest(path: "/apps/1/events", body: body).text)
        stepped.settle()
        #expect(noticed(first) == (1..<5).map { "+u\($0)" })
        for client in [first] + others {
            #expect(client.frames.last?.text == eventText("e", channel, data: "1"))
        }
    }

    @Test("With 0 each notice is sent at once")
    func off() throws {
        let stepped = try stepped(delay: 0)
        let (first, _) = try join(stepped, as: "u0")
        var others: [SteppedPeer] = []
        for number in 1..<5 {
            others.append(try join(stepped, as: "u\(number)").0)
            stepped.settle()
            #expect(noticed(first) == (1...number).map { "+u\($0)" })
        }
    }

    @Test(
        "Up to a hundred members no notice is delayed; above it all lists converge",
        arguments: [1, 2]
    )
    func crowds(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].limits.membersMax = 200
            $0.apps[0].features.presenceNoticeDelay = 60
        } _: { broker in
            var clients: [WebSocketWire] = []
            var lists: [[String]] = []
            for number in 0..<130 {
                let (client, users) = try await broker.joined(channel, as: "u\(number)")
                clients.append(client)
                lists.append(users)
            }
            for (number, client) in clients.enumerated() {
                #expect(lists[number] == (0...number).map { "u\($0)" }.sorted())
                for later in number + 1..<130 {
                    #expect(try await client.nextText() == Notice.added("u\(later)", channel))
                }
            }
            let answer = try await broker.trigger("e", "1", on: channel)
            #expect(answer.status == 200)
            for client in clients {
                #expect(try await client.nextText() == eventText("e", channel, data: "1"))
            }
        }
    }
}
