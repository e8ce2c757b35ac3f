import Glibc

/// A failed system call and its `errno`.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The call's own name, as in its manual page: `bind`, `accept4`.
    public var call: String
    /// The value of `errno`.
    public var code: Int32

    /// Makes the error of a call with its own name and the value of `errno`.
    public init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// The message of the code, such as `No such file or directory`.
    package var reason: String { String(cString: strerror(code)) }

    /// For example `bind: Address already in use (98)`.
    public var description: String { "\(call): \(reason) (\(code))" }

    /// Makes the error of the call that just failed, from `errno`; no other call may come in between.
    static func last(_ call: String) -> SystemError {
        let code = errno
        return SystemError(call: call, code: code)
    }

    /// Throws if `result` is negative, which is how system calls report failure.
    @discardableResult
    static func check(_ result: Int32, _ call: String) throws(SystemError) -> Int32 {
        let code = errno
        guard result >= 0 else { throw SystemError(call: call, code: code) }
        return result
    }
}
