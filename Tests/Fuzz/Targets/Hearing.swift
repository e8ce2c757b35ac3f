import WebSocket

/// What an endpoint heard.
enum Heard: Equatable {
    case text([UInt8])
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(CloseCode?, [UInt8])
    case failed(WebSocketError)

    /// The same as the frame that the peer would send; nothing for a failure.
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

/// An endpoint that is fed in pieces, as a transport would: what was not consumed comes again.
///
/// Whatever it says is held against the rules that hold for every message.
struct Ear: ~Copyable {
    private var endpoint: WebSocketEndpoint
    private let limits: WebSocketLimits
    private(set) var heard: [Heard] = []
    private var unread: [UInt8] = []

    init(_ role: Role, limits: WebSocketLimits, compression: NegotiatedDeflate? = nil) {
        endpoint = WebSocketEndpoint(role: role, limits: limits, compression: compression)
        self.limits = limits
    }

    mutating func feed(_ piece: [UInt8]) throws(Finding) {
        var received = unread + piece
        var position = 0
        var span = received.mutableSpan
        let wasOver = endpoint.isCloseReceived || endpoint.hasFailed
        do throws(WebSocketError) {
            while let incoming = try endpoint.next(in: &span, at: &position) {
                let payload = incoming.payload(in: span.span)
                heard.append(Heard(incoming.kind, payload))
            }
        } catch {
            heard.append(.failed(error))
        }
        if wasOver { try expect(position == received.count, "what follows the end is kept") }
        unread = Array(received[position...])
        try expect(unread.count <= 131, "\(unread.count) bytes are left unread")
        try judge()
    }

    private func judge() throws(Finding) {
        guard let last = heard.last else { return }
        switch last {
        case .text(let payload):
            try expect(String(validating: payload, as: UTF8.self) != nil, "a text is not UTF-8")
            try expect(payload.count <= limits.messageLengthMax, "a text is too long")
        case .binary(let payload):
            try expect(payload.count <= limits.messageLengthMax, "a message is too long")
        case .ping(let payload), .pong(let payload):
            try expect(payload.count <= 125, "a control frame is too long")
        case .close(let code, let reason):
            try expect(code?.isValidOnWire ?? true, "close code \(code?.rawValue ?? 0) was heard")
            try expect(String(validating: reason, as: UTF8.self) != nil, "a reason is not UTF-8")
            try expect(endpoint.isCloseReceived, "a close frame does not end the conversation")
        case .failed(let error):
            try expect(endpoint.hasFailed, "a failure does not end the conversation")
            try expect(error.closeCode.isValidOnWire, "\(error) has no code to close with")
            let reason = error.description.utf8.count
            try expect(reason <= 123, "\(error) does not fit a close frame")
        }
    }
}

extension Heard {
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

/// What an endpoint hears when the bytes come in these pieces.
func hear(
    _ pieces: [[UInt8]],
    as role: Role,
    limits: WebSocketLimits,
    compression: NegotiatedDeflate? = nil
) throws(Finding) -> [Heard] {
    var ear = Ear(role, limits: limits, compression: compression)
    for piece in pieces { try ear.feed(piece) }
    return ear.heard
}

/// What an endpoint hears, after it was shown that it hears the same however the bytes are cut.
///
/// With `mayExceedWindow`, a message may fail to inflate in some cuts: zlib notices that a peer refers to bytes beyond the
/// agreed window only when it no longer has them, which depends on the reads.
func hearEveryCut(
    of stream: [UInt8],
    as role: Role,
    limits: WebSocketLimits,
    compression: NegotiatedDeflate? = nil,
    mayExceedWindow: Bool = false
) throws(Finding) -> [Heard] {
    let whole = try hear([stream], as: role, limits: limits, compression: compression)
    for pieces in Cuts(of: stream) {
        let cut = try hear(pieces, as: role, limits: limits, compression: compression)
        if mayExceedWindow, agreeUntilCorrupt(cut, whole) { continue }
        try expectEqual(cut, whole, "cut behind \(pieces.map(\.count)), a \(role)")
    }
    return whole
}

/// Whether both are equal up to a message that does not inflate in one of them.
private func agreeUntilCorrupt(_ one: [Heard], _ other: [Heard]) -> Bool {
    let corrupt = [one, other].compactMap { $0.firstIndex(of: .failed(.corruptCompression)) }
    guard let first = corrupt.min() else { return false }
    return one.prefix(first).elementsEqual(other.prefix(first))
}
