import Glibc

/// A failed system call and the `errno` that it left.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call's own name, as in its manual page: `bind`, `accept4`.
    public var call: String
    /// The value of `errno`.
    public var code: Int32

    /// Names a call and the code that it left.
    ///
    /// - Parameters:
    ///   - call: The call's own name.
    ///   - code: The value of `errno`.
    public init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// For example `bind: Address already in use (98)`.
    public var description: String { "\(call): \(String(cString: strerror(code))) (\(code))" }

    /// Takes what the call that just failed left in `errno`; nothing may run in between.
    static func last(_ call: String) -> SystemError {
        let code = errno
        return SystemError(call: call, code: code)
    }

    /// Throws if `result` is negative, as system calls say that they failed.
    @discardableResult
    static func check(_ result: Int32, _ call: String) throws(SystemError) -> Int32 {
        let code = errno
        guard result >= 0 else { throw SystemError(call: call, code: code) }
        return result
    }
}
