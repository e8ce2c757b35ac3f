import Broker
import Glibc
import Net
import Observability
import PusherProtocol
import Shard
import Synchronization

/// The load of the last hour: a ring of samples in memory.
final class ConsoleSamples: Sendable {
    /// The time between two samples.
    static let interval = Duration.seconds(10)
    /// The number of samples: an hour.
    private static let countMax = 360

    /// The load at one time; events and deliveries are counted since the start.
    struct Sample: Sendable {
        /// Milliseconds since 1970.
        let milliseconds: Int
        let connections: Int
        let channels: Int
        /// Messages from clients.
        let received: Int
        /// Events that were sequenced.
        let published: Int
        /// Frames to one subscriber each.
        let delivered: Int
        /// Bytes that wait for slow readers.
        let queuedBytes: Int
        /// How long the reading has waited until a loop took it, at most, in microseconds: so do requests and messages.
        let loopDelay: Int
        /// How long an event has taken from its trigger, or from a client's message, until it was sent, in microseconds.
        ///
        /// The longest of them: that wait, and the turn of the channel's loop until its sends were made. 0 without an event.
        let sendDelay: Int

        init(_ reading: ShardReading, loopDelay: Duration, sendDelay: Duration) {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            milliseconds = time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
            connections = reading.connections
            channels = reading.channels
            received = reading.received
            published = reading.published
            delivered = reading.delivered
            queuedBytes = reading.queuedBytes
            self.loopDelay = Int(loopDelay / .microseconds(1))
            self.sendDelay = Int(sendDelay / .microseconds(1))
        }

        fileprivate func write(to writer: inout JSONWriter) {
            writer.beginArray()
            for number in [
                milliseconds, connections, channels, received, published, delivered, queuedBytes,
                loopDelay, sendDelay,
            ] {
                writer.integer(number)
            }
            writer.endArray()
        }
    }

    private let start = MonotonicTime.current
    private let samples = Mutex<(ring: [Sample], start: Int)>(([], 0))

    /// Adds a sample, in place of the oldest one of an hour.
    func append(_ sample: Sample) {
        samples.withLock { samples in
            if samples.ring.count < Self.countMax {
                samples.ring.append(sample)
            } else {
                samples.ring[samples.start] = sample
                samples.start = (samples.start + 1) % Self.countMax
            }
        }
    }

    /// All samples as JSON, the oldest first, each an array of its properties in the order of their declaration.
    var history: [UInt8] {
        let (ring, start) = samples.withLock { $0 }
        var writer = JSONWriter()
        writer.beginArray()
        for index in ring.indices { ring[(start + index) % ring.count].write(to: &writer) }
        writer.endArray()
        return writer.bytes
    }

    /// The present load as JSON, with what has happened since the start.
    ///
    /// - Parameters:
    ///   - sample: The load.
    ///   - limits: The limits that were met.
    ///   - numbers: Further members.
    ///   - writeRefusals: Writes the value of the member `refusals`.
    /// - Returns: A JSON object.
    func live(
        _ sample: Sample,
        limits: [(limit: Limit, count: Int)],
        _ numbers: [(String, Int?)],
        _ writeRefusals: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("sample")
        sample.write(to: &writer)
        writer.members([("uptime", Int(start.duration(to: .current) / .seconds(1)))])
        writer.members(numbers)
        writer.name("refusals")
        writeRefusals(&writer)
        writer.name("limits")
        writer.beginArray()
        for (limit, count) in limits {
            writer.beginObject()
            writer.name("limit")
            writer.string(limit.rawValue)
            writer.name("key")
            writer.string(limit.rule.key)
            writer.name("count")
            writer.integer(count)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}
