import Glibc

/// A file descriptor with one owner, closed when that owner lets go.
public struct FileDescriptor: ~Copyable, Sendable {
    /// The number that system calls take; valid as long as this value lives.
    public let raw: Int32

    /// Takes ownership of what a call returned.
    ///
    /// - Parameters:
    ///   - raw: What the call returned: a descriptor that nobody else closes, or a negative number.
    ///   - call: The call's name, for the error.
    /// - Throws: The `errno` that the call left, if `raw` is negative.
    public init(_ raw: Int32, from call: String) throws(SystemError) {
        let code = errno
        guard raw >= 0 else { throw SystemError(call: call, code: code) }
        self.raw = raw  // Last: past this line a throw would not compile.
    }

    deinit { _ = close(raw) }
}
