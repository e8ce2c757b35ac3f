/// Frames of a group joined into one buffer, and which streams are left out of which of them.
struct FrameBatch {
    /// The first frame itself, shared, while it is the only one.
    private(set) var bytes: [UInt8] = []
    /// Made for the first frame that is not for everybody, which most batches do not have.
    private var exclusions: Exclusions?
    private(set) var frameCount = 0

    /// Whether there is nothing to send.
    var isEmpty: Bool { frameCount == 0 }

    /// Adds a frame, for all streams but one.
    mutating func append(_ frame: [UInt8], except: Stream?) {
        let start = bytes.count
        if start == 0 { bytes = frame } else { bytes.append(contentsOf: frame) }
        frameCount += 1
        guard let except else { return }
        let exclusions = self.exclusions ?? Exclusions()
        self.exclusions = exclusions
        exclusions.add(except, start..<bytes.count)
    }

    /// The bytes from `start` on that are meant for a stream; the batch itself where that is all.
    func part(for stream: Stream, from start: Int) -> [UInt8] {
        guard let ranges = exclusions?.ranges(of: stream) else {
            return start == 0 ? bytes : Array(bytes[start...])
        }
        var part: [UInt8] = []
        var position = start
        for range in ranges where range.upperBound > position {
            part += bytes[position..<max(position, range.lowerBound)]
            position = range.upperBound
        }
        return part + bytes[position...]
    }

    /// Lets go of the streams that are left out of a frame: nothing more is sent.
    func end() { exclusions?.end() }
}

/// The streams that are left out of frames of a batch.
private final class Exclusions {
    private struct Exclusion {
        /// Held, so that no other stream gets this one's identity.
        let stream: Stream
        /// Ascending, in bytes of the batch.
        var ranges: [Range<Int>]
    }

    private var exclusions: [ObjectIdentifier: Exclusion] = [:]

    /// Leaves a stream out of a range, which lies behind all earlier ones.
    func add(_ stream: Stream, _ range: Range<Int>) {
        let id = ObjectIdentifier(stream)
        if exclusions[id] == nil {
            exclusions[id] = Exclusion(stream: stream, ranges: [])
            stream.exclusionCount += 1
            stream.obstacles.insert(.excluded)
        }
        exclusions[id]?.ranges.append(range)
    }

    func ranges(of stream: Stream) -> [Range<Int>]? { exclusions[ObjectIdentifier(stream)]?.ranges }

    func end() {
        for exclusion in exclusions.values {
            let stream = exclusion.stream
            stream.exclusionCount -= 1
            if stream.exclusionCount == 0 { stream.obstacles.remove(.excluded) }
        }
    }
}
