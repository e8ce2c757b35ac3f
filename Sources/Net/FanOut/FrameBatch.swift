/// Frames of a group joined into one buffer, and the streams excluded from some of them.
struct FrameBatch {
    /// The frames; a single frame is shared, not copied.
    private(set) var bytes: [UInt8] = []
    /// Nil until a frame excludes a stream; most batches have no such frame.
    private var exclusions: Exclusions?
    private(set) var frameCount = 0

    /// Whether there is nothing to send.
    var isEmpty: Bool { frameCount == 0 }

    /// Appends a frame for all streams except one, which gets another one instead, or none.
    mutating func append(_ frame: [UInt8], except: Stream?, substitute: [UInt8] = []) {
        let start = bytes.count
        if start == 0 { bytes = frame } else { bytes.append(contentsOf: frame) }
        frameCount += 1
        guard let except else { return }
        let exclusions = self.exclusions ?? Exclusions()
        self.exclusions = exclusions
        exclusions.add(except, Exclusion(range: start..<bytes.count, substitute: substitute))
    }

    /// Returns a stream's frames from byte `start` on; the batch itself, not a copy, if that is all of it.
    func part(for stream: Stream, from start: Int) -> [UInt8] {
        guard let list = exclusions?[stream] else {
            return start == 0 ? bytes : Array(bytes[start...])
        }
        var part: [UInt8] = []
        var position = start
        for exclusion in list where exclusion.range.upperBound > position {
            part += bytes[position..<max(position, exclusion.range.lowerBound)]
            part += exclusion.substitute
            position = exclusion.range.upperBound
        }
        return part + bytes[position...]
    }

    /// Releases the excluded streams.
    ///
    /// Called when the batch has been sent.
    func end() { exclusions?.end() }
}

/// The part of a batch that a stream does not get, and what it gets instead.
private struct Exclusion {
    let range: Range<Int>
    let substitute: [UInt8]
}

/// The streams excluded from frames of a batch.
private final class Exclusions {
    private struct Excluded {
        /// Retained, so that no other stream gets this one's identity.
        let stream: Stream
        /// In the order of their ranges.
        var exclusions: [Exclusion]
    }

    private var streams: [ObjectIdentifier: Excluded] = [:]

    /// Excludes a stream from a range, which lies after all earlier ones.
    func add(_ stream: Stream, _ exclusion: Exclusion) {
        let id = ObjectIdentifier(stream)
        if streams[id] == nil {
            streams[id] = Excluded(stream: stream, exclusions: [])
            stream.exclusionCount += 1
            stream.obstacles.insert(.excluded)
        }
        streams[id]?.exclusions.append(exclusion)
    }

    subscript(stream: Stream) -> [Exclusion]? { streams[ObjectIdentifier(stream)]?.exclusions }

    func end() {
        for excluded in streams.values {
            let stream = excluded.stream
            stream.exclusionCount -= 1
            if stream.exclusionCount == 0 { stream.obstacles.remove(.excluded) }
        }
    }
}
