import Digests

/// The secret of an app, ready to sign; the text itself is not kept.
///
/// One object for all who sign with it, so that it is handed on as a single reference.
public final class AppSecret: Sendable {
    private let current: HMACSHA256
    private let previous: HMACSHA256?

    /// Prepares a secret.
    ///
    /// - Parameters:
    ///   - text: The secret that signs.
    ///   - previous: The one that it replaces: signatures made with it are still accepted.
    public init(_ text: String, replacing previous: String? = nil) {
        current = HMACSHA256(key: Array(text.utf8).span)
        self.previous = previous.map { HMACSHA256(key: Array($0.utf8).span) }
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
        current.isCode(signature, of: message) || previous?.isCode(signature, of: message) == true
    }
}

extension AppSecret: CustomStringConvertible, CustomReflectable {
    /// Says that there is a secret, and nothing of it.
    public var description: String { "AppSecret(…)" }

    /// Shows nothing, whoever dumps the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
