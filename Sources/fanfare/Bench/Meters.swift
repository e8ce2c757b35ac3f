/// What the devices have read from their connections, all together.
final class Traffic {
    /// How often a connection had something to read.
    private(set) var readCount = 0
    /// How many bytes they were, within TLS.
    private(set) var byteCount = 0

    /// Counts what one read brought.
    func count(_ bytes: Int) {
        readCount += 1
        byteCount += bytes
    }
}

/// What the meters of a run say at one moment, or how far they went between two.
struct Meters: Equatable, Sendable {
    /// CPU time of the server in nanoseconds, if its process is known.
    var serverTime: Int64?
    /// CPU time of this process in nanoseconds.
    var generatorTime: Int64 = 0
    /// How often a device's connection had something to read.
    var readCount = 0
    /// How many bytes the devices have read.
    var byteCount = 0

    static func - (after: Meters, before: Meters) -> Meters {
        Meters(
            serverTime: after.serverTime.flatMap { after in before.serverTime.map { after - $0 } },
            generatorTime: after.generatorTime - before.generatorTime,
            readCount: after.readCount - before.readCount,
            byteCount: after.byteCount - before.byteCount
        )
    }
}
