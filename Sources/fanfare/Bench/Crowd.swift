import Net
import PusherProtocol

/// Those that the devices of a benchmark belong to: is told what each of them hears.
///
/// All calls come on the loop's thread. A device is closed after ``failed(_:)``, not before.
protocol Crowd: AnyObject {
    /// The server has told a device who it is.
    func greeted(_ device: Device, as socketID: SocketID)
    /// The server has acknowledged what a device subscribed to.
    func acknowledged(_ device: Device, at now: MonotonicTime)
    /// A device with a subscription has received a text message.
    ///
    /// - Returns: Whether it is one that the benchmark made; what is not, the device reads itself.
    func heard(_ text: Span<UInt8>, by device: Device, at now: MonotonicTime) -> Bool
    /// A device that was to leave has left.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - isClean: Whether the server answered its close frame.
    func left(_ device: Device, isClean: Bool)
    /// Something went wrong with a device.
    func failed(_ error: BenchError)
}

extension Crowd {
    /// Nothing: devices are not asked to leave.
    func left(_ device: Device, isClean: Bool) {}
}

/// How many of the connections that a run needs are on their way, and how many are in.
struct Admission {
    /// How many are needed.
    let count: Int
    /// How many were begun; also the index of the next one.
    private(set) var begunCount = 0
    /// How many are in.
    private(set) var admittedCount = 0
    /// To how many of them the server granted permessage-deflate.
    private(set) var deflateCount = 0

    /// How many connections may be between their first packet and their acknowledgement.
    static let underWayMax = 256

    /// None yet.
    ///
    /// - Parameter count: How many are needed.
    init(count: Int) { self.count = count }

    /// Whether all are in.
    var isComplete: Bool { admittedCount == count }

    /// The index of a connection to begin now; nil if none may be.
    mutating func next() -> Int? {
        guard begunCount < count, begunCount - admittedCount < Self.underWayMax else { return nil }
        defer { begunCount += 1 }
        return begunCount
    }

    /// Counts a device as being in.
    mutating func admit(_ device: Device) {
        admittedCount += 1
        if device.isCompressed { deflateCount += 1 }
    }
}
