import CLinux
import Glibc

/// The listening sockets that a service manager has passed to the process, as systemd does (sd_listen_fds(3)).
///
/// The manager keeps them open while the program is restarted. A connection that arrives meanwhile waits in the kernel's
/// backlog until the next process accepts it; without them it is refused.
public struct InheritedSockets: Sendable {
    /// No sockets: the program listens on its own.
    public static let none = InheritedSockets()

    /// The first descriptor that is passed (`SD_LISTEN_FDS_START`).
    private static var firstDescriptor: Int32 { 3 }
    /// The maximum number of descriptors that are looked at.
    private static var countMax: Int32 { 1_000 }

    private let descriptors: [SocketAddress: Int32]

    private init() { descriptors = [:] }

    /// Finds the sockets of a process by its environment: `LISTEN_FDS` is their number, and `LISTEN_PID` the process that
    /// they are for; `processID` is this process unless given.
    ///
    /// - Throws: ``InheritanceError`` if a descriptor is not a listening socket.
    public init(
        environment: [String: String],
        processID: Int32? = nil
    ) throws(InheritanceError) {
        guard environment["LISTEN_PID"].flatMap(Int32.init) == processID ?? getpid(),
            let count = environment["LISTEN_FDS"].flatMap(Int32.init), count > 0
        else {
            self = .none
            return
        }
        let first = Self.firstDescriptor
        try self.init(descriptors: first..<first + min(count, Self.countMax))
    }

    init(descriptors: some Sequence<Int32>) throws(InheritanceError) {
        var sockets: [SocketAddress: Int32] = [:]
        for fd in descriptors {
            sockets[try Self.address(of: fd)] = fd
            // Not for programs that this one starts.
            _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        }
        self.descriptors = sockets
    }

    /// The addresses of the sockets, in no particular order.
    public var addresses: some Collection<SocketAddress> { descriptors.keys }

    /// Whether there is a socket for this address.
    public func contains(_ address: SocketAddress) -> Bool { descriptors[address] != nil }

    private static func address(of fd: Int32) throws(InheritanceError) -> SocketAddress {
        var (isListening, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        guard getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0,
            isListening != 0,
            let address = SocketAddress({ getsockname(fd, $0, &$1) })
        else { throw InheritanceError(descriptor: fd) }
        return address
    }

    /// A descriptor of the socket for an address, nonblocking; `nil` if there is none.
    ///
    /// Loops share the socket, each with a descriptor of its own. The passed one stays open to the end of the process.
    func socket(for address: SocketAddress) throws(SystemError) -> FileDescriptor? {
        guard let passed = descriptors[address] else { return nil }
        let descriptor = try FileDescriptor(fcntl(passed, F_DUPFD_CLOEXEC, 0), from: "fcntl")
        let flags = try SystemError.check(fcntl(descriptor.raw, F_GETFL), "fcntl")
        try SystemError.check(fcntl(descriptor.raw, F_SETFL, flags | O_NONBLOCK), "fcntl")
        if !address.isUnix { try Socket.setStreamOptions(on: descriptor.raw) }
        return descriptor
    }
}

/// A descriptor that was passed to the process is not a listening stream socket.
public struct InheritanceError: Error, Hashable, CustomStringConvertible {
    /// The descriptor's number.
    public let descriptor: Int32

    /// The error in one line, with a remedy.
    public var description: String {
        "Descriptor \(descriptor) of LISTEN_FDS is not a listening socket: "
            + "use ListenStream= and Accept=no in the socket's unit"
    }
}
