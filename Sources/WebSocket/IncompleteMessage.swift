import Primitives

/// A message that has not arrived completely; it is the only state of a connection that takes heap memory.
final class IncompleteMessage {
    let kind: MessageKind
    /// The decompressor; nil if the message is not compressed.
    private let compression: MessageCompression?
    private let limits: WebSocketLimits
    /// The payload so far, unmasked and inflated.
    private var payload: [UInt8] = []
    private var validator = UTF8Validator()
    /// The announced length of all frames so far, including the current one, in bytes.
    private var announcedLength = 0
    private var fragmentCount = 0

    /// The number of bytes of the current frame that have not arrived.
    private(set) var missingLength = 0
    private var mask: UInt32?
    private var isLastFrame = false

    /// The memory of the object, its allocations' overhead and its user's bookkeeping, in bytes.
    private static var overhead: Int { 256 }

    /// The memory of the message, in bytes.
    var memorySize: Int { Self.overhead + payload.capacity + (compression?.inflaterSize ?? 0) }

    init(kind: MessageKind, compression: MessageCompression?, limits: WebSocketLimits) {
        self.kind = kind
        self.compression = compression
        self.limits = limits
    }

    /// Begins the next frame of the message; throws the limit that the announced length or the number of frames
    /// exceeds.
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

    /// Adds a received part of the current frame.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes, which are unmasked in place.
    ///   - range: The part that belongs to the frame, at most ``missingLength`` bytes.
    /// - Throws: The first rule that the part violates.
    func append(
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

    /// Returns the message if its last frame is complete; else `nil`.
    func finished() throws(WebSocketError) -> [UInt8]? {
        guard isLastFrame, missingLength == 0 else { return nil }
        // Some senders send an empty message as no bytes, although §7.2.3.6 requires a zero byte.
        if let compression, announcedLength > 0 {
            let checked = payload.count
            let failure = compression.finish(into: &payload, limit: limits.messageLengthMax)
            try check(from: checked, failure)
        }
        guard kind == .binary || validator.isComplete else { throw .invalidText }
        return payload
    }

    /// Continues the UTF-8 check of a text with the bytes inflated from `start` on, before `failure` is thrown.
    private func check(from start: Int, _ failure: WebSocketError?) throws(WebSocketError) {
        let inflated = payload
        guard kind == .binary || validator.accept(inflated.span.extracting(start...)) else {
            throw .invalidText
        }
        if let failure { throw failure }
    }
}
