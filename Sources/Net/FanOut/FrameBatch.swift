/// Frames of a group joined into one buffer, and the streams excluded from some of them.
struct FrameBatch {
    /// The frames; a single frame is shared, not copied.
    private(set) var bytes: [UInt8] = []
    /// Nil until a frame excludes a stream; most batches have no such frame.
    private var exclusions: Exclusions?
    private(set) var frameCount = 0

    /// Whether there is nothing to send.
    var isEmpty: Bool { frameCount == 0 }

    /// Appends a frame for all streams except one.
    mutating func append(_ frame: [UInt8], except: Stream?) {
        let start = bytes.count
        if start == 0 { bytes = frame } else { bytes.append(contentsOf: frame) }
        frameCount += 1
        guard let except else { return }
        let exclusions = self.exclusions ?? Exclusions()
        self.exclusions = exclusions
        exclusions.add(except, start..<bytes.count)
    }

    /// Returns a stream's frames from byte `start` on; the batch itself, not a copy, if that is all of it.
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

    /// Releases the excluded streams.
    ///
    /// Called when the batch has been sent.
    func end() { exclusions?.end() }
}

/// The streams excluded from frames of a batch.
private final class Exclusions {
    private struct Exclusion {
        /// Retained, so that no other stream gets this one's identity.
        let stream: Stream
        /// Byte ranges of the batch, ascending.
        var ranges: [Range<Int>]
    }

    private var exclusions: [ObjectIdentifier: Exclusion] = [:]

    /// Excludes a stream from a range, which lies after all earlier ones.
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
