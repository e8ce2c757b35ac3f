import Digests

/// The secret of an app, ready to sign; the text itself is not kept.
///
/// One object for all who sign with it, so that it is handed on as a single reference.
public final class AppSecret: Sendable {
    private let current: HMACSHA256
    private let others: [HMACSHA256]

    /// Prepares a secret.
    public convenience init(_ text: String) { self.init([text]) }

    /// Prepares a secret that is being replaced, and those that replace it.
    ///
    /// - Parameter texts: One or more: the first signs, signatures made with any of them are accepted.
    public init(_ texts: [String]) {
        precondition(!texts.isEmpty, "nothing to sign with")
        let all = texts.map { HMACSHA256(key: Array($0.utf8).span) }
        current = all[0]
        others = Array(all.dropFirst())
    }

    /// Returns the signature of `message`: HMAC-SHA256 as 64 lower-case hexadecimal digits.
    public func sign(_ message: Span<UInt8>) -> String {
        Hex.encode(current.code(for: message))
    }

    /// Returns the signature of `message`: HMAC-SHA256 as 64 lower-case hexadecimal digits.
    public func sign(_ message: String) -> String { sign(Array(message.utf8).span) }

    /// Compares a signature with the right one, in the same time wherever they differ.
    ///
    /// - Parameters:
    ///   - signature: Hexadecimal digits, lower case: upper case is refused, as by every other implementation.
    ///   - message: What was signed.
    /// - Returns: Whether it is the signature of `message`.
    public func verify(_ signature: Span<UInt8>, of message: Span<UInt8>) -> Bool {
        if current.isCode(signature, of: message) { return true }
        return others.contains { $0.isCode(signature, of: message) }
    }
}

extension AppSecret: CustomStringConvertible, CustomReflectable {
    /// Says that there is a secret, and nothing of it.
    public var description: String { "AppSecret(…)" }

    /// Shows nothing, whoever dumps the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
