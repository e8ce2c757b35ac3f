import WebSocket

/// A result of an endpoint.
enum ReceivedMessage: Equatable {
    case text([UInt8])
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(CloseCode?, [UInt8])
    case failed(WebSocketError)

    /// The frame that a peer would send for it; empty for a failure.
    func frame(mask: UInt32?) -> [UInt8] {
        switch self {
        case .text(let payload): FrameEncoder.frame(.text, payload: payload.span, mask: mask)
        case .binary(let payload): FrameEncoder.frame(.binary, payload: payload.span, mask: mask)
        case .ping(let payload): FrameEncoder.frame(.ping, payload: payload.span, mask: mask)
        case .pong(let payload): FrameEncoder.frame(.pong, payload: payload.span, mask: mask)
        case .close(let code, let reason):
            FrameEncoder.close(code, reason: String(decoding: reason, as: UTF8.self), mask: mask)
        case .failed: []
        }
    }
}

/// Feeds an endpoint in pieces, as a transport does: unconsumed bytes are passed again.
///
/// Each result is checked against the rules for every message.
struct Receiver: ~Copyable {
    private var endpoint: WebSocketEndpoint
    private let limits: WebSocketLimits
    private(set) var received: [ReceivedMessage] = []
    private var unread: [UInt8] = []

    init(_ role: Role, limits: WebSocketLimits, compression: NegotiatedDeflate? = nil) {
        endpoint = WebSocketEndpoint(role: role, limits: limits, compression: compression)
        self.limits = limits
    }

    mutating func feed(_ piece: [UInt8]) throws(Finding) {
        var bytes = unread + piece
        var position = 0
        var span = bytes.mutableSpan
        let wasOver = endpoint.isCloseReceived || endpoint.hasFailed
        do throws(WebSocketError) {
            while let incoming = try endpoint.next(in: &span, at: &position) {
                let payload = incoming.payload(in: span.span)
                received.append(ReceivedMessage(incoming.kind, payload))
            }
        } catch {
            received.append(.failed(error))
        }
        if wasOver { try expect(position == bytes.count, "bytes after the end are not consumed") }
        unread = Array(bytes[position...])
        try expect(unread.count <= 131, "\(unread.count) bytes are left unread")
        try validate()
    }

    private func validate() throws(Finding) {
        guard let last = received.last else { return }
        switch last {
        case .text(let payload):
            try expect(String(validating: payload, as: UTF8.self) != nil, "a text is not UTF-8")
            try expect(payload.count <= limits.messageLengthMax, "a text is too long")
        case .binary(let payload):
            try expect(payload.count <= limits.messageLengthMax, "a message is too long")
        case .ping(let payload), .pong(let payload):
            try expect(payload.count <= 125, "a control frame is too long")
        case .close(let code, let reason):
            try expect(
                code?.isValidOnWire ?? true,
                "close code \(code?.rawValue ?? 0) was received"
            )
            try expect(String(validating: reason, as: UTF8.self) != nil, "a reason is not UTF-8")
            try expect(endpoint.isCloseReceived, "a close frame does not end the session")
        case .failed(let error):
            try expect(endpoint.hasFailed, "a failure does not end the session")
            try expect(error.closeCode.isValidOnWire, "\(error) has no close code")
            let reason = error.description.utf8.count
            try expect(reason <= 123, "\(error) does not fit a close frame")
        }
    }
}

extension ReceivedMessage {
    fileprivate init(_ kind: Incoming.Kind, _ payload: [UInt8]) {
        switch kind {
        case .text: self = .text(payload)
        case .binary: self = .binary(payload)
        case .ping: self = .ping(payload)
        case .pong: self = .pong(payload)
        case .close(let code): self = .close(code, payload)
        }
    }
}

/// Returns the results of an endpoint for a stream in these pieces.
func receive(
    _ pieces: [[UInt8]],
    as role: Role,
    limits: WebSocketLimits,
    compression: NegotiatedDeflate? = nil
) throws(Finding) -> [ReceivedMessage] {
    var receiver = Receiver(role, limits: limits, compression: compression)
    for piece in pieces { try receiver.feed(piece) }
    return receiver.received
}

/// Returns the results of an endpoint, after checking that they do not depend on the fragmentation.
///
/// With `mayExceedWindow`, a message may fail to inflate in some fragmentations: zlib detects a reference beyond the
/// agreed window only when it no longer has those bytes, which depends on the reads.
func receiveInAllCuts(
    of stream: [UInt8],
    as role: Role,
    limits: WebSocketLimits,
    compression: NegotiatedDeflate? = nil,
    mayExceedWindow: Bool = false
) throws(Finding) -> [ReceivedMessage] {
    let whole = try receive([stream], as: role, limits: limits, compression: compression)
    for pieces in Cuts(of: stream) {
        let cut = try receive(pieces, as: role, limits: limits, compression: compression)
        if mayExceedWindow, agreeUntilCorrupt(cut, whole) { continue }
        try expectEqual(cut, whole, "cut behind \(pieces.map(\.count)), a \(role)")
    }
    return whole
}

/// Whether both are equal up to a message that one of them cannot inflate.
private func agreeUntilCorrupt(_ one: [ReceivedMessage], _ other: [ReceivedMessage]) -> Bool {
    let corrupt = [one, other].compactMap { $0.firstIndex(of: .failed(.corruptCompression)) }
    guard let first = corrupt.min() else { return false }
    return one.prefix(first).elementsEqual(other.prefix(first))
}
