import Digests

/// The prepared signing keys of an app's secret; the text itself is not stored.
///
/// A class, so that it is shared by reference.
public final class AppSecret: Sendable {
    private let current: HMACSHA256
    private let others: [HMACSHA256]

    /// Prepares a secret.
    public convenience init(_ text: String) { self.init([text]) }

    /// Prepares several secrets, for a rotation.
    ///
    /// - Parameter texts: One or more secrets. The first signs; signatures made with any of them are accepted.
    public init(_ texts: [String]) {
        precondition(!texts.isEmpty, "no secret")
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

    /// Verifies a signature, in constant time.
    ///
    /// - Parameters:
    ///   - signature: Lower-case hexadecimal digits; upper case is refused, as by every other implementation.
    ///   - message: The signed bytes.
    /// - Returns: Whether it is the signature of `message`.
    public func verify(_ signature: Span<UInt8>, of message: Span<UInt8>) -> Bool {
        if current.isCode(signature, of: message) { return true }
        return others.contains { $0.isCode(signature, of: message) }
    }
}

extension AppSecret: CustomStringConvertible, CustomReflectable {
    /// A placeholder that does not contain the secret.
    public var description: String { "AppSecret(…)" }

    /// An empty mirror, so that `dump` does not reveal the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
