import CLinux
import CommandSupport
import Glibc
import Net

/// A running broker, held by a pidfd: its process ID might be reused.
struct BrokerProcess: ~Copyable {
    /// The process ID.
    let id: Int32
    private let descriptor: FileDescriptor

    /// Opens a broker's process.
    ///
    /// - Parameter id: Its process ID.
    /// - Throws: When there is no such process, or it is not a broker that can be drained.
    init(id: Int32) throws(CommandError) {
        // The pidfd is opened first, so that the process that is checked is the one that is signalled.
        let descriptor = try Self.openDescriptor(id)
        guard Self.isBroker(id) else {
            let command = Self.command(of: id)?.prefix(2).joined(separator: " ") ?? "unreadable"
            throw CommandError(
                "Process \(id) is not \"fanfare serve\": its command is \"\(command)\""
            )
        }
        // SIGUSR1 ends a process without a handler for it.
        guard Self.catches(SIGUSR1, status: ProcFile.text(at: "/proc/\(id)/status") ?? "") else {
            throw CommandError(
                "Process \(id) does not handle SIGUSR1: it is starting, or is an older version. "
                    + "Try again, or send SIGTERM"
            )
        }
        self.id = id
        self.descriptor = descriptor
    }

    private static func openDescriptor(_ id: Int32) throws(CommandError) -> FileDescriptor {
        do {
            return try FileDescriptor(shim_pidfd_open(id), from: "pidfd_open")
        } catch {
            if error.code == ENOSYS {
                throw CommandError("fanfare drain needs Linux 5.3 or later: send SIGTERM instead")
            }
            throw CommandError("No process has the ID \(id): \(error)")
        }
    }

    /// The IDs of all brokers on this machine, in ascending order.
    static func all() -> [Int32] {
        (ProcFile.numbers(in: "/proc") ?? []).filter(isBroker).sorted()
    }

    /// The arguments behind `fanfare serve` of the only broker; `nil` if there is none or more than one.
    static func onlyArguments() -> [String]? {
        let ids = all()
        return ids.count == 1 ? command(of: ids[0]).map { Array($0.dropFirst(2)) } : nil
    }

    /// Sends SIGUSR1, which makes the broker drain; idempotent.
    ///
    /// - Throws: When the signal cannot be sent.
    func drain() throws(CommandError) {
        guard shim_pidfd_send_signal(descriptor.raw, SIGUSR1) != 0 else { return }
        let code = errno
        switch code {
        case ESRCH: return
        case EPERM:
            throw CommandError(
                "Broker \(id) belongs to another user: run this as that user, or as root"
            )
        default: throw CommandError("\(SystemError(call: "pidfd_send_signal", code: code))")
        }
    }

    /// Waits for the process to end.
    ///
    /// - Parameter milliseconds: The maximum time to wait.
    /// - Returns: Whether it has ended.
    func hasEnded(within milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }

    /// The number of open descriptors, most of them connections; `nil` if it cannot be read.
    var descriptorCount: Int? { ProcFile.numbers(in: "/proc/\(id)/fd")?.count }

    // MARK: Parsing

    private static func isBroker(_ id: Int32) -> Bool {
        guard let command = command(of: id), command.count > 1 else { return false }
        let name = command[0].split(separator: "/").last
        return name == "fanfare" && command[1] == "serve"
    }

    private static func command(of id: Int32) -> [String]? {
        ProcFile.text(at: "/proc/\(id)/cmdline")?.split(separator: "\0").map(String.init)
    }

    /// Whether a process has a handler for a signal.
    static func catches(_ signal: Int32, status: String) -> Bool {
        let line = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }
        guard let digits = line?.split(separator: "\t").last,
            let mask = UInt64(digits, radix: 16)
        else { return false }
        return mask >> UInt64(signal - 1) & 1 == 1
    }
}
