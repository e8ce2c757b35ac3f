import Broker
import BrokerConfiguration
import Foundation
import Testing

@testable import FanfareServer

@Suite("What became of a message of a stored channel") struct StoredDeliveryTests {
    @Test("What is no longer in memory is looked up in the file", arguments: [1, 3])
    func file(loops: Int) async throws {
        var stored = try StoredBroker()
        stored.change = { $0.apps[0].recoveryRules[0].messagesMax = 5_000 }
        let channels = ["stored-a", "stored-b"]
        let begin = Date()
        let readers = try await stored.run(loops: loops) { broker in
            var readers: [String] = []
            for channel in channels {
                let reader = try await TrackingWire(broker, channel)
                readers.append(reader.socketID)
                let excluded = #","socket_id":"\#(reader.socketID)""#
                _ = try await broker.trigger("1", on: channel, members: "")
                _ = try await broker.trigger("2", on: channel, members: excluded)
                for _ in 0..<101 {
                    let events = Array(
                        repeating: #"{"name":"e","channel":"\#(channel)","data":"d"}"#,
                        count: 10
                    )
                    let body = #"{"batch":[\#(events.joined(separator: ","))]}"#
                    let request = SignedRequest(path: "/apps/1/batch_events", body: body)
                    #expect(try await Wire(port: broker.port).ask(request).status == 200)
                }
                for (serial, verdict) in [
                    (1, "sent"), (2, "left_out"), (1_012, "sent"), (1_013, "never_published"),
                ] {
                    let found = try await broker.verdict(serial, on: channel, reader)
                    #expect(found == verdict, "\(serial)")
                }
                #expect(try await broker.delivery(2, on: channel).counts == ["left_out": 1])
            }
            return readers
        }
        let end = Date()
        // Behind a restart nothing is in memory, and the records are gone.
        try await stored.run(loops: 4 - loops) { broker in
            for (channel, reader) in zip(channels, readers) {
                let delivery = try await broker.delivery(2, on: channel, socket: reader)
                #expect(delivery.verdict == "unknown_connection")
                let message = try #require(delivery.message)
                #expect(message.kept && message.last == 1_012 && message.excluded == reader)
                let published = Double(message.published ?? 0) / 1_000
                #expect(published > begin.timeIntervalSince1970 - 1)
                #expect(published < end.timeIntervalSince1970 + 1)
                // To the millisecond, whichever shard answers.
                let page = try await broker.history(channel, [("after", "1"), ("limit", "1")])
                #expect(page.body.contains(#""time":\#(message.published ?? 0),"#))
            }
        }
    }

    @Test("What the file has dropped is no longer kept") func truncated() async throws {
        var stored = try StoredBroker()
        stored.change = { $0.apps[0].recoveryRules[0].messagesMax = 2 }
        try await stored.run { broker in
            let reader = try await TrackingWire(broker, "stored")
            for number in 1...4 {
                _ = try await broker.trigger("\(number)", on: "stored", members: "")
            }
            try await eventually {
                try await broker.delivery(1, on: "stored").message?.kept == false
            }
            #expect(try await broker.verdict(1, on: "stored", reader) == "not_kept")
            #expect(try await broker.verdict(4, on: "stored", reader) == "sent")
        }
    }
}
