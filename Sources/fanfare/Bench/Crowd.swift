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
    /// A connection has ended that was not to, or will: the server closes it.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - parting: How.
    /// - Returns: Whether that is something the benchmark counts; what is not, it fails with.
    func parted(_ device: Device, _ parting: Parting) -> Bool
    /// Something went wrong with a device.
    func failed(_ error: BenchError)
}

extension Crowd {
    /// Nothing: devices are not asked to leave.
    func left(_ device: Device, isClean: Bool) {}

    /// Nothing is: a connection that ends is a failure.
    func parted(_ device: Device, _ parting: Parting) -> Bool { false }
}
