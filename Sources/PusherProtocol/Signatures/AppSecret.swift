import Primitives
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

    /// The length of a short signature: eight bytes, in hexadecimal digits.
    static var shortLength: Int { 16 }

    /// Returns the beginning of the signature of `message`, for a text that clients keep: 16 hexadecimal digits.
    public func shortSignature(of message: String) -> String {
        String(sign(message).prefix(Self.shortLength))
    }

    /// Verifies a short signature, in constant time.
    public func verify(shortSignature signature: String, of message: String) -> Bool {
        let (signature, message) = (Array(signature.utf8), Array(message.utf8))
        guard signature.count == Self.shortLength else { return false }
        return ([current] + others).contains { key in
            let digits = Hex.encode(key.code(for: message.span)).utf8
            return zip(signature, digits).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
        }
    }
}

extension AppSecret: CustomStringConvertible, CustomReflectable {
    /// A placeholder that does not contain the secret.
    public var description: String { "AppSecret(…)" }

    /// An empty mirror, so that `dump` does not reveal the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
