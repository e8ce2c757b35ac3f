import Primitives

/// A message of which not all has arrived: the only state of a connection that takes memory.
final class IncompleteMessage {
    let kind: MessageKind
    /// What inflates the message, if it is compressed.
    private let compression: MessageCompression?
    private let limits: WebSocketLimits
    /// What has arrived, unmasked and inflated.
    private var payload: [UInt8] = []
    private var validator = UTF8Validator()
    /// Bytes that the frames announced, those of the current one included.
    private var announcedLength = 0
    private var fragmentCount = 0

    /// What is left of the current frame.
    private(set) var missingLength = 0
    private var mask: UInt32?
    private var isLastFrame = false

    /// The memory of the object itself, and of what its allocation and an owner's bookkeeping take, in bytes.
    private static var overhead: Int { 256 }

    /// The memory that the message takes, in bytes.
    var memorySize: Int { Self.overhead + payload.capacity + (compression?.inflaterSize ?? 0) }

    init(kind: MessageKind, compression: MessageCompression?, limits: WebSocketLimits) {
        self.kind = kind
        self.compression = compression
        self.limits = limits
    }

    /// Begins the next frame of the message.
    ///
    /// - Throws: The limit that the announced length or the number of frames exceeds.
    func begin(_ header: FrameHeader) throws(WebSocketError) {
        let limit = compression == nil ? limits.messageLengthMax : limits.compressedLengthMax
        guard header.payloadLength <= limit - announcedLength else {
            throw .messageTooLong(limit: limits.messageLengthMax)
        }
        fragmentCount += 1
        guard fragmentCount <= limits.fragmentCountMax else {
            throw .tooManyFragments(limit: limits.fragmentCountMax)
        }
        announcedLength += header.payloadLength
        missingLength = header.payloadLength
        mask = header.mask
        isLastFrame = header.isFinal
    }

    /// Takes what has arrived of the current frame.
    ///
    /// - Parameters:
    ///   - bytes: What was received; unmasked in place.
    ///   - range: The part that belongs to the frame, at most ``missingLength`` bytes.
    /// - Throws: The first rule that the piece breaks.
    func take(
        _ bytes: inout MutableSpan<UInt8>,
        in range: Range<Int>
    ) throws(WebSocketError) {
        if let mask {
            Mask.apply(mask, to: &bytes, in: range)
            self.mask = Mask.rotated(mask, by: range.count)
        }
        missingLength -= range.count
        let piece = bytes.span.extracting(range)
        if let compression {
            let checked = payload.count
            let limit = limits.messageLengthMax
            let failure = compression.inflate(piece, into: &payload, limit: limit)
            try check(from: checked, failure)
        } else {
            guard kind == .binary || validator.accept(piece) else { throw .invalidText }
            piece.withUnsafeBufferPointer { payload.append(contentsOf: $0) }
        }
    }

    /// The message, if its last frame has arrived whole.
    func finished() throws(WebSocketError) -> [UInt8]? {
        guard isLastFrame, missingLength == 0 else { return nil }
        // Some senders make an empty message of no bytes at all, where §7.2.3.6 wants one of zero.
        if let compression, announcedLength > 0 {
            let checked = payload.count
            let failure = compression.finish(into: &payload, limit: limits.messageLengthMax)
            try check(from: checked, failure)
        }
        guard kind == .binary || validator.isComplete else { throw .invalidText }
        return payload
    }

    /// Continues the check of a text with what was inflated past `start`, before `failure`.
    private func check(from start: Int, _ failure: WebSocketError?) throws(WebSocketError) {
        let inflated = payload
        guard kind == .binary || validator.accept(inflated.span.extracting(start...)) else {
            throw .invalidText
        }
        if let failure { throw failure }
    }
}
