import PusherProtocol
import Testing

@testable import Broker

/// A channel's home with the state of its shard, as a class, because `#expect` takes no mutating calls.
private final class Home {
    let address: ChannelAddress
    let app: App
    var home = ChannelHome(on: 0)
    var state = HomeShardState()

    init(
        _ channel: String,
        keep: RecoveryRule.Keep = .whileNeeded,
        clientEvents: Bool = true
    ) throws {
        address = ChannelAddress(app: AppID("1"), name: try ChannelName(channel))
        let rule = RecoveryRule {
            $0.keep = keep
            $0.keepsClientEvents = clientEvents
        }
        app = App(
            id: AppID("1"),
            key: "key",
            secret: AppSecret("secret"),
            recovery: RecoverySettings {
                $0.isEnabled = true
                $0.rules = [rule]
            }
        )
    }

    func subscribe() {
        _ = home.subscribe(
            Subscriber(SocketID(1, 1), shard: 0),
            to: address,
            of: app,
            sharing: &state,
            at: 0
        )
    }

    /// Decides on an event, and records it if it is published.
    func publish(_ event: ProposedEvent) -> EventDecision {
        let decision = home.decide(on: event, at: address, of: app, sharing: &state, now: 0)
        guard case .publish(let stream) = decision else { return decision }
        let serial = stream.map { state.streams.nextSerial($0) } ?? 0
        let envelope = Envelope(event, channel: address.name, serial: serial)
        _ = state.record(event, as: envelope, in: stream, on: address, of: app, at: 0, now: 0)
        return decision
    }

    /// The position of the last message; `nil` without a stream.
    var position: ChannelPosition? {
        state.streams.index(of: address).map { state.streams[$0].position }
    }
}

/// The event of a backend, with further members of its JSON.
private func publication(_ data: String = "1", _ members: String = "") throws -> ProposedEvent {
    let body = Array(#"{"name":"e","channel":"a","data":"\#(data)"\#(members)}"#.utf8)
    return .publication(try TriggerRequest.parse(body.span))
}

/// The event of a client.
private func clientEvent(_ data: String = "1", key: String? = nil) throws -> ProposedEvent {
    let event = ClientEvent(
        nameToken: Array(#""client-e""#.utf8),
        channel: "private-a",
        dataToken: Array("\"\(data)\"".utf8),
        key: key.flatMap { IdempotencyKey($0) }
    )
    return .clientEvent(event, ClientEventAuthor(socketID: SocketID(1, 1)))
}

@Suite("Decisions on events") struct EventDecisionTests {
    @Test(
        "An event is numbered if its channel's rule or its publisher wants it",
        arguments: [true, false]
    )
    func numbers(isOccupied: Bool) throws {
        let plain = try Home("a")
        if isOccupied { plain.subscribe() }
        #expect(plain.publish(try publication()) == .publish(stream: nil))
        #expect(plain.position == nil)
        #expect(plain.publish(try publication("1", #","info":"position""#)) == .publish(stream: 0))
        #expect(plain.position?.serial == 1)
        // Its stream exists now.
        #expect(plain.publish(try publication()) == .publish(stream: 0))
        #expect(plain.position?.serial == 2)

        let kept = try Home("a", keep: .always)
        if isOccupied { kept.subscribe() }
        #expect(kept.publish(try publication()) == .publish(stream: 0))
        #expect(kept.publish(try publication("2", #","ephemeral":true"#)) == .publish(stream: nil))
        #expect(kept.position?.serial == 1)
    }

    @Test("Client events are numbered unless the rule leaves them out", arguments: [true, false])
    func clientEvents(areKept: Bool) throws {
        let home = try Home("private-a", keep: .always, clientEvents: areKept)
        home.subscribe()
        #expect(home.publish(try clientEvent()) == .publish(stream: areKept ? 0 : nil))
        #expect(home.position?.serial == (areKept ? 1 : 0))
    }

    @Test("A key publishes an event once", arguments: [true, false])
    func keys(isOfClient: Bool) throws {
        func event(_ data: String) throws -> ProposedEvent {
            isOfClient
                ? try clientEvent(data, key: "k")
                : try publication(data, #","idempotency_key":"k""#)
        }
        let home = try Home("private-a", keep: .always)
        home.subscribe()
        #expect(home.publish(try event("1")) == .publish(stream: 0))
        let position = try #require(home.position)
        #expect(home.publish(try event("1")) == .repeated(position))
        #expect(home.publish(try event("2")) == .conflicting)
        #expect(home.position == position)
    }

    @Test("An event with a condition is published at that position alone")
    func conditions() throws {
        let home = try Home("a", keep: .always)
        #expect(home.publish(try publication()) == .publish(stream: 0))
        let position = try #require(home.position)
        let condition =
            #","if_position":{"stream":"\#(position.stream.text)","serial":\#(position.serial)}"#
        #expect(home.publish(try publication("2", condition)) == .publish(stream: 0))
        let last = try #require(home.position)
        #expect(last.serial == 2)
        #expect(home.publish(try publication("3", condition)) == .outdated(last))
    }

    @Test("A cached event has its own position, though later ones wait to be released")
    func cachedPositions() throws {
        let home = try Home("cache-a", keep: .always)
        let event = try publication("1")
        guard case .publish(let stream?) = home.publish(event) else { return }
        // Two more have serials, and are not released.
        _ = home.state.mint(stream)
        _ = home.state.mint(stream)
        #expect(home.publish(try publication("2")) == .publish(stream: stream))
        #expect(home.state.cachedEvent(of: home.address, at: 0)?.position == home.position)
    }
}
