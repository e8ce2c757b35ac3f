import Broker
import Glibc
import PusherProtocol
import Synchronization
import Testing

@testable import FanfareServer

/// An observer that blocks the loop of a channel's home when its last subscriber leaves, until it is opened.
private final class Gate: BrokerObserver {
    private let channel: String
    private let isReached = Atomic(false)
    private let isOpen = Atomic(false)

    init(channel: String) { self.channel = channel }

    /// Whether a loop is blocked.
    var blocks: Bool { isReached.load(ordering: .relaxed) && !isOpen.load(ordering: .relaxed) }

    /// Unblocks the loop.
    func open() { isOpen.store(true, ordering: .relaxed) }

    func observedKinds(of app: AppID?) -> BrokerEventKinds { .occupancy }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        guard case .channel(.vacated, let address) = event, address.name.text == channel else {
            return
        }
        isReached.store(true, ordering: .relaxed)
        let deadline = ContinuousClock.now + .seconds(30)
        while !isOpen.load(ordering: .relaxed), ContinuousClock.now < deadline { usleep(1_000) }
    }
}

@Suite("Subscriptions between two loops do not block publishing")
struct MembershipTrafficTests {
    @Test("A backlog of unsubscriptions does not cause refusals of events")
    func unsubscriptions() async throws {
        let gate = Gate(channel: "gate")
        try await TestBroker.run(loops: 2, lineLengthMax: 50, observer: gate) { broker in
            // The kernel chooses their loops: one of the clients, and one of the backends, is not on the blocked one.
            var clients: [WebSocketWire] = []
            let channels = (0..<300).map { "room-\($0)" }
            for _ in 0..<12 {
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: channels)
                clients.append(client)
            }
            let (keeper, _) = try await broker.connected()
            try await keeper.subscribe(to: "gate")
            try keeper.unsubscribe(from: "gate")
            try await eventually { gate.blocks }
            for client in clients {
                for channel in channels { try client.unsubscribe(from: channel) }
                try client.send(#"{"event":"pusher:ping"}"#)
            }
            // A loop that has answered has processed all earlier messages, and sent half of them to the blocked loop.
            try await eventually { clients.contains { $0.wire.receivedCount > 0 } }
            let backends = try (0..<12).map { _ in try Wire(port: broker.port) }
            for backend in backends {
                let body = #"{"name":"e","channels":["news"],"data":"1"}"#
                try backend.send(SignedRequest(path: "/apps/1/events", body: body).text)
            }
            try await eventually { backends.contains { $0.receivedCount > 0 } }
            #expect(gate.blocks)
            gate.open()
            for backend in backends { #expect(try await backend.answer().status == 200) }
            #expect(await broker.hits(.relayedEvents) == 0)
        }
    }
}
