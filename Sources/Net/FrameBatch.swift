/// Frames of a group joined into one buffer, and which streams are left out of which of them.
struct FrameBatch {
    /// The first frame itself, shared, while it is the only one.
    var bytes: [UInt8] = []
    var frameCount = 0
    private var exclusions: [ObjectIdentifier: Exclusion] = [:]

    private struct Exclusion {
        /// Held, so that no other stream gets this one's identity.
        let stream: Stream
        /// Ascending, in bytes of the batch.
        var ranges: [Range<Int>]
    }

    /// Leaves a stream out of a range, which lies behind all earlier ones.
    mutating func leaveOut(_ stream: Stream, _ range: Range<Int>) {
        let id = ObjectIdentifier(stream)
        if exclusions[id] == nil {
            exclusions[id] = Exclusion(stream: stream, ranges: [])
            stream.exclusionCount += 1
            stream.obstacles.insert(.excluded)
        }
        exclusions[id]?.ranges.append(range)
    }

    /// The bytes from `start` on that are meant for a stream; the batch itself where that is all.
    func part(for stream: Stream, from start: Int) -> [UInt8] {
        guard let ranges = exclusions[ObjectIdentifier(stream)]?.ranges else {
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

    /// Forgets everything.
    mutating func end() {
        for exclusion in exclusions.values {
            let stream = exclusion.stream
            stream.exclusionCount -= 1
            if stream.exclusionCount == 0 { stream.obstacles.remove(.excluded) }
        }
        self = FrameBatch()
    }
}
