import Testing

@testable import WebSocket

/// What an endpoint heard.
enum Heard: Equatable {
    case text(String)
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(CloseCode?, String)
    case failed(WebSocketError)
}

/// An endpoint fed in pieces, as a transport would: what was not consumed comes again.
struct Ear: ~Copyable {
    var endpoint: WebSocketEndpoint
    private(set) var heard: [Heard] = []
    /// Messages that were lent from the bytes given, not put together.
    private(set) var lentCount = 0
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
                let payload = incoming.withPayload(in: span.span) { lent in
                    lent.indices.map { lent[$0] }
                }
                #expect(payload == incoming.payload(in: span.span))
                #expect(payload.count == incoming.payloadLength)
                let text = String(decoding: payload, as: UTF8.self)
                switch incoming.kind {
                case .text: heard.append(.text(text))
                case .binary: heard.append(.binary(payload))
                case .ping: heard.append(.ping(payload))
                case .pong: heard.append(.pong(payload))
                case .close(let code): heard.append(.close(code, text))
                }
                if case .within = incoming.payload { lentCount += 1 }
            }
        } catch {
            heard.append(.failed(error))
        }
        unread = Array(received[position...])
        #expect(unread.count <= 131, "only an incomplete header or control frame may be left")
    }
}

/// What an endpoint hears when the bytes come in these pieces.
func hear(
    _ pieces: [[UInt8]],
    as role: Role,
    limits: WebSocketLimits = .init(),
    compression: NegotiatedDeflate? = nil
) -> [Heard] {
    var ear = Ear(role, limits: limits, compression: compression)
    for piece in pieces { ear.feed(piece) }
    return ear.heard
}

/// Feeds frames to both roles, whole, byte by byte and cut at each place: they always hear the same.
///
/// The frames are written as a server sends them; the server hears them masked.
func expect(
    _ frames: [UInt8],
    isHeardAs expected: [Heard],
    limits: WebSocketLimits = .init(),
    compression: (Role) -> NegotiatedDeflate? = { _ in nil },
    sourceLocation: SourceLocation = #_sourceLocation
) {
    for role in [Role.client, .server] {
        let stream = role == .client ? frames : masked(frames)
        func hearing(_ pieces: [[UInt8]]) -> [Heard] {
            hear(pieces, as: role, limits: limits, compression: compression(role))
        }
        #expect(hearing([stream]) == expected, "whole, \(role)", sourceLocation: sourceLocation)
        #expect(
            hearing(stream.map { [$0] }) == expected,
            "byte by byte, \(role)",
            sourceLocation: sourceLocation
        )
        let cuts =
            stream.count <= 512 ? Array(0...stream.count) : Array(0...40) + [stream.count / 2]
        for cut in cuts {
            let heard = hearing([Array(stream[..<cut]), Array(stream[cut...])])
            guard heard != expected else { continue }
            #expect(heard == expected, "cut at \(cut), \(role)", sourceLocation: sourceLocation)
        }
    }
}

/// The shortest beginning of the frames at which a server refuses them.
func lengthRefused(_ frames: [UInt8], as role: Role = .client) -> Int? {
    let stream = role == .client ? frames : masked(frames)
    return (1...stream.count).first { end in
        if case .failed? = hear([Array(stream[..<end])], as: role).last { true } else { false }
    }
}
