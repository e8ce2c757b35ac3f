import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer

extension HostileTests {
    @Suite("A million subscribes") struct SubscribeFloodTests {
        private func subscribes(_ numbers: Range<Int>) -> [UInt8] {
            numbers.flatMap { Frames.subscribe("flood-\($0)") }
        }

        private func expectGranted(_ number: Int, by client: WebSocketWire) async throws {
            let text = try await client.nextText()
            #expect(
                text
                    == #"{"event":"pusher_internal:subscription_succeeded","channel":"flood-\#(number)","data":"{}"}"#
            )
        }

        @Test(
            "Above the maximum each subscription is refused; repeated ones close with 4100"
        )
        func pastTheLimit() async throws {
            try await TestBroker.attacked(loops: 2) {
                $0.apps[0].limits.subscriptionsMax = 50
            } by: { broker in
                let (client, _) = try await broker.connected()
                // Twice the limit per minute, since the minute may end in between.
                try await client.wire.pour(subscribes(0..<1_000))
                // The grants come from two loops: those of each loop are in order.
                var grantCount = 0
                var refusalCount = 0
                var frame = try await client.next()
                while !frame.text.contains(#""code":4100"#) {
                    if frame.text.contains("subscription_succeeded") {
                        grantCount += 1
                    } else if frame.text.contains("pusher:subscription_error") {
                        #expect(frame.text.contains("may have at most 50 subscriptions"))
                        refusalCount += 1
                    } else {
                        #expect(
                            frame.text
                                .contains(#""code":null,"message":"A connection may have at most"#)
                        )
                    }
                    frame = try await client.next()
                }
                #expect(grantCount <= 50 && refusalCount <= 242 && refusalCount >= 120)
                #expect(frame.text.contains("More than 120 faulty messages a minute"))
                #expect(try await client.next().closeCode == 4100)
                try await client.wire.expectNoMore()
            }
        }

        @Test("Above the rate each subscription is refused")
        func fasterThanAllowed() async throws {
            try await TestBroker.attacked {
                $0.apps[0].limits.subscriptionRate = Rate(perSecond: 10)
            } by: { broker in
                let (client, _) = try await broker.connected()
                try await client.wire.pour(subscribes(0..<100))
                var texts: [String] = []
                for _ in 0..<10 { texts.append(try await client.nextText()) }
                #expect(texts.allSatisfy { $0.contains("subscription_succeeded") })
                let refusal = try await client.nextText()
                #expect(refusal.contains("may subscribe to 10 channels a second: try again later"))
                client.wire.reset()
            }
        }

        @Test("The maximum of subscriptions, released when the connection closes")
        func manyAtOnce() async throws {
            try await TestBroker.attacked(loops: 2) { broker in
                var clients: [WebSocketWire] = []
                for client in 0..<4 {
                    clients.append(try await broker.connected().0)
                    try await clients[client].wire.pour(
                        subscribes(client * 500..<client * 500 + 1_000)
                    )
                }
                for client in clients {
                    for _ in 0..<1_000 {
                        #expect(try await client.nextText().contains("subscription_succeeded"))
                    }
                }
                for client in clients { client.wire.reset() }
            }
        }

        @Test(
            "Subscribing and unsubscribing, one channel or ever new ones",
            arguments: [true, false]
        )
        func inAndOut(isOneChannel: Bool) async throws {
            try await TestBroker.attacked { broker in
                let (client, _) = try await broker.connected()
                var flood: [UInt8] = []
                for number in 0..<2_000 {
                    let channel = "flood-\(isOneChannel ? 0 : number)"
                    flood += Frames.subscribe(channel) + Frames.unsubscribe(channel)
                }
                try await client.wire.pour(flood)
                for number in 0..<2_000 {
                    try await expectGranted(isOneChannel ? 0 : number, by: client)
                }
                try await client.expectNothing()
                #expect(try await !broker.isOccupied("flood-0"))
            }
        }

        @Test("Repeated subscriptions, and unsubscriptions without subscription")
        func nonsense() async throws {
            try await TestBroker.attacked { broker in
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: "flood")
                try await client.wire.pour(Frames.repeated(Frames.subscribe("flood"), 40))
                try await client.wire.pour(Frames.repeated(Frames.unsubscribe("other"), 40))
                for _ in 0..<40 {
                    let text = try await client.nextText()
                    #expect(text.contains("Existing subscription to channel flood"))
                }
                for _ in 0..<40 {
                    let text = try await client.nextText()
                    #expect(text.contains("No current subscription to channel other"))
                }
                try await client.expectNothing()
            }
        }

        @Test("Refused signatures slow the connection, and leaving what is refused is no fault")
        func refusedSignatures() async throws {
            try await TestBroker.attacked {
                $0.apps[0].limits.faultsPerMinuteMax = 5
            } by: { broker in
                let (client, socketID) = try await broker.connected()
                // The signatures of the connection before, as a page sends them that has lost it.
                for number in 0..<12 {
                    try client.send(subscribeMessage(to: "private-\(number)", socketID: "1.1"))
                }
                try await client.wire.pour(Frames.repeated(Frames.unsubscribe("private-0"), 12))
                for number in 0..<12 {
                    let text = try await client.nextText()
                    #expect(text.contains("subscription_error"), "\(text)")
                    #expect(text.contains(#""channel":"private-\#(number)""#))
                    #expect(try await client.nextText().contains(#""code":null"#))
                }
                for _ in 0..<12 {
                    #expect(try await client.nextText().contains("No current subscription"))
                }
                #expect(await broker.hits(.faultRate) > 0)
                try client.send(subscribeMessage(to: "private-0", socketID: socketID))
                #expect(try await client.nextText().contains("subscription_succeeded"))
            }
        }

        @Test(
            "More members than the maximum of a presence channel, repeatedly"
        )
        func presence() async throws {
            try await TestBroker.attacked(loops: 2) {
                $0.apps[0].limits.membersMax = 20
            } by: { broker in
                for _ in 0..<3 {
                    var clients: [WebSocketWire] = []
                    var refusedCount = 0
                    for number in 0..<40 {
                        let (client, socketID) = try await broker.connected()
                        let data = #"{"user_id":"\#(number)"}"#
                        try client.send(
                            subscribeMessage(to: "presence-flood", socketID: socketID, data: data)
                        )
                        let answer = try await client.nextText()
                        if answer.contains("subscription_error") {
                            refusedCount += 1
                            #expect(answer.contains("has 20 members, the maximum"))
                        }
                        clients.append(client)
                    }
                    #expect(refusedCount == 20)
                    for client in clients { client.wire.reset() }
                    try await eventually { try await !broker.isOccupied("presence-flood") }
                }
            }
        }
    }
}
