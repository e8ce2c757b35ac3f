import Glibc

/// A file descriptor with one owner, closed when the value is destroyed.
public struct FileDescriptor: ~Copyable, Sendable {
    /// The descriptor's number, valid as long as this value lives.
    public let raw: Int32

    /// Takes ownership of a descriptor that a call returned.
    ///
    /// - Parameters:
    ///   - raw: The call's result: a descriptor that is closed nowhere else, or a negative number.
    ///   - call: The call's name, for the error.
    /// - Throws: The `errno` that the call left, if `raw` is negative.
    public init(_ raw: Int32, from call: String) throws(SystemError) {
        let code = errno
        guard raw >= 0 else { throw SystemError(call: call, code: code) }
        self.raw = raw  // Last: past this line a throw would not compile.
    }

    deinit { _ = close(raw) }
}

/// The limit of open descriptors.
///
/// Each connection takes one.
package enum DescriptorLimit {
    /// The soft limit (getrlimit(2)).
    package static var current: Int { read().map { Int(clamping: $0.rlim_cur) } ?? .max }

    /// Raises the soft limit to the hard limit (getrlimit(2)), which needs no privilege, and returns the new limit.
    @discardableResult package static func raise() -> UInt64 {
        guard let limit = read() else { return 0 }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        let isRaised = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0
        return UInt64(isRaised ? raised.rlim_cur : limit.rlim_cur)
    }

    private static func read() -> rlimit? {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? limit : nil
    }
}
