import Testing

@testable import WebSocket

/// The events of an endpoint.
enum EndpointEvent: Equatable {
    case text(String)
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(CloseCode?, String)
    case failed(WebSocketError)
}

/// An endpoint fed in pieces, as by a transport: unconsumed bytes are passed again.
struct Receiver: ~Copyable {
    var endpoint: WebSocketEndpoint
    private(set) var events: [EndpointEvent] = []
    /// The number of messages that were returned without a copy.
    private(set) var uncopiedCount = 0
    private(set) var unread: [UInt8] = []

    init(_ role: Role, limits: WebSocketLimits = .init(), compression: NegotiatedDeflate? = nil) {
        endpoint = WebSocketEndpoint(role: role, limits: limits, compression: compression)
    }

    mutating func feed(_ piece: some Collection<UInt8>) {
        var received = unread + piece
        var position = 0
        var span = received.mutableSpan
        do throws(WebSocketError) {
            while let incoming = try endpoint.next(in: &span, at: &position) {
                let payload = incoming.withPayload(in: span.span) { bytes in
                    bytes.indices.map { bytes[$0] }
                }
                #expect(payload == incoming.payload(in: span.span))
                #expect(payload.count == incoming.payloadLength)
                let text = String(decoding: payload, as: UTF8.self)
                switch incoming.kind {
                case .text: events.append(.text(text))
                case .binary: events.append(.binary(payload))
                case .ping: events.append(.ping(payload))
                case .pong: events.append(.pong(payload))
                case .close(let code): events.append(.close(code, text))
                }
                if case .within = incoming.payload { uncopiedCount += 1 }
            }
        } catch {
            events.append(.failed(error))
        }
        unread = Array(received[position...])
        #expect(unread.count <= 131, "only an incomplete header or control frame may be left")
    }
}

/// Returns the events of an endpoint when the bytes come in these pieces.
func receive(
    _ pieces: [[UInt8]],
    as role: Role,
    limits: WebSocketLimits = .init(),
    compression: NegotiatedDeflate? = nil
) -> [EndpointEvent] {
    var receiver = Receiver(role, limits: limits, compression: compression)
    for piece in pieces { receiver.feed(piece) }
    return receiver.events
}

/// Feeds frames to both roles, whole, byte by byte and at every split; checks that the events are the same.
///
/// The frames are given as a server sends them; a server gets them masked.
func expect(
    _ frames: [UInt8],
    areReceivedAs expected: [EndpointEvent],
    limits: WebSocketLimits = .init(),
    compression: (Role) -> NegotiatedDeflate? = { _ in nil },
    sourceLocation: SourceLocation = #_sourceLocation
) {
    for role in [Role.client, .server] {
        let stream = role == .client ? frames : masked(frames)
        func receiveAll(_ pieces: [[UInt8]]) -> [EndpointEvent] {
            receive(pieces, as: role, limits: limits, compression: compression(role))
        }
        #expect(receiveAll([stream]) == expected, "whole, \(role)", sourceLocation: sourceLocation)
        #expect(
            receiveAll(stream.map { [$0] }) == expected,
            "byte by byte, \(role)",
            sourceLocation: sourceLocation
        )
        let cuts =
            stream.count <= 512 ? Array(0...stream.count) : Array(0...40) + [stream.count / 2]
        for cut in cuts {
            let events = receiveAll([Array(stream[..<cut]), Array(stream[cut...])])
            guard events != expected else { continue }
            #expect(events == expected, "cut at \(cut), \(role)", sourceLocation: sourceLocation)
        }
    }
}

/// Returns the shortest prefix of the frames that a server refuses.
func lengthRefused(_ frames: [UInt8], as role: Role = .client) -> Int? {
    let stream = role == .client ? frames : masked(frames)
    return (1...stream.count).first { end in
        if case .failed? = receive([Array(stream[..<end])], as: role).last { true } else { false }
    }
}
