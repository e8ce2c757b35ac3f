import Primitives
public import PusherProtocol

/// The keys of an app, with the secrets of each.
///
/// An app normally has one key and one secret, and several while they are rotated: signatures of all are accepted. The
/// broker itself signs with the oldest secret, which all clients have.
public struct Credentials: Sendable {
    /// The oldest key.
    public let key: String
    /// The secrets of the oldest key; the oldest of them signs.
    public let secret: AppSecret
    /// The other keys.
    private let others: [(key: String, secret: AppSecret)]

    /// Creates credentials of one key and one secret.
    public init(key: String, secret: AppSecret) {
        self.key = key
        self.secret = secret
        others = []
    }

    /// Creates credentials from one or more pairs of key and secret, the oldest first; a key may have several secrets.
    ///
    /// The first pair signs, and all are accepted.
    public init(_ pairs: [(key: String, secret: String)]) {
        precondition(!pairs.isEmpty, "an app has a key")
        var texts: [(key: String, secrets: [String])] = []
        for pair in pairs {
            if let index = texts.firstIndex(where: { $0.key == pair.key }) {
                texts[index].secrets.append(pair.secret)
            } else {
                texts.append((pair.key, [pair.secret]))
            }
        }
        let all = texts.map { (key: $0.key, secret: AppSecret($0.secrets)) }
        (key, secret) = all[0]
        others = Array(all.dropFirst())
    }

    /// All keys, the oldest first.
    public var keys: [String] { [key] + others.map(\.key) }

    /// The secret of a key; `nil` if the key is not one of the app's.
    public func secret(of key: Span<UInt8>) -> AppSecret? {
        if key.order(against: self.key) == 0 { return secret }
        for other in others where key.order(against: other.key) == 0 {
            return other.secret
        }
        return nil
    }

    /// The secret of a key; `nil` if the key is not one of the app's.
    public func secret(of key: String) -> AppSecret? {
        key.withUTF8Bytes { secret(of: $0) }
    }
}
