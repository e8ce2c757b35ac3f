import Primitives

/// The kind of a channel, which follows from the prefix of its name.
public enum ChannelKind: UInt8, CaseIterable, Hashable, Sendable {
    /// Open to every client.
    case `public`
    /// Open to every client; the last event is kept for later subscribers.
    case cache
    /// Subscriptions need an authorization by the app's backend.
    case `private`
    /// A private channel with a cache.
    case privateCache
    /// A private channel with end-to-end encrypted events: the broker cannot read them.
    case encrypted
    /// An encrypted channel with a cache.
    case encryptedCache
    /// A private channel with a list of its members.
    case presence
    /// A presence channel with a cache.
    case presenceCache
    /// The channel of one signed-in user.
    case serverToUser

    /// Determines the kind from the prefix of a name.
    public init(ofName name: String) {
        self = name.withUTF8Bytes { ChannelKind(ofName: $0) }
    }

    /// Determines the kind from the prefix of a name, the longest matching prefix.
    public init(ofName name: Span<UInt8>) {
        self =
            switch true {
            case !ChannelKind.mayHavePrefix(name): .public
            case name.starts(with: "private-encrypted-cache-"): .encryptedCache
            case name.starts(with: "private-encrypted-"): .encrypted
            case name.starts(with: "private-cache-"): .privateCache
            case name.starts(with: "private-"): .private
            case name.starts(with: "presence-cache-"): .presenceCache
            case name.starts(with: "presence-"): .presence
            case name.starts(with: "cache-"): .cache
            case name.starts(with: ChannelKind.serverToUserPrefix): .serverToUser
            default: .public
            }
    }

    /// Whether the first character is that of a prefix: a fast path, because most names have none.
    private static func mayHavePrefix(_ name: Span<UInt8>) -> Bool {
        guard !name.isEmpty else { return false }
        return switch name[0] {
        case UInt8(ascii: "p"), UInt8(ascii: "c"), UInt8(ascii: "#"): true
        default: false
        }
    }

    /// The prefix of a user's channel; the user's id follows.
    static let serverToUserPrefix: StaticString = "#server-to-user-"

    /// Whether a subscription needs a signature by the app's backend.
    public var requiresSignature: Bool {
        switch self {
        case .private, .privateCache, .encrypted, .encryptedCache, .presence, .presenceCache: true
        case .public, .cache, .serverToUser: false
        }
    }

    /// Whether the channel has members with ids.
    public var isPresence: Bool { self == .presence || self == .presenceCache }

    /// Whether the payload is encrypted, so that the broker forwards it without reading it.
    public var isEncrypted: Bool { self == .encrypted || self == .encryptedCache }

    /// Whether the last event is kept for later subscribers.
    public var isCache: Bool {
        switch self {
        case .cache, .privateCache, .encryptedCache, .presenceCache: true
        case .public, .private, .encrypted, .presence, .serverToUser: false
        }
    }

    /// Whether clients may send events on it, if the app has client events enabled.
    public var allowsClientEvents: Bool { requiresSignature }
}
