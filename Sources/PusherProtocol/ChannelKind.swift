import Primitives

/// What the prefix of a channel's name makes of it.
public enum ChannelKind: UInt8, CaseIterable, Hashable, Sendable {
    /// Open to everybody.
    case `public`
    /// Open to everybody; the last event waits for who comes later.
    case cache
    /// For those whom the app's backend has let in.
    case `private`
    /// A private channel with a cache.
    case privateCache
    /// A private channel whose events only its subscribers can read.
    case encrypted
    /// An encrypted channel with a cache.
    case encryptedCache
    /// A private channel that knows its members.
    case presence
    /// A presence channel with a cache.
    case presenceCache
    /// The events for one signed-in user.
    case serverToUser

    /// Reads the kind off the beginning of a name.
    public init(ofName name: String) {
        self = name.withUTF8Bytes { ChannelKind(ofName: $0) }
    }

    /// Reads the kind off the beginning of a name; a prefix counts at the very start only, the longest first.
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

    /// Whether a name begins as the prefixes do, and so may have one: most names do not.
    private static func mayHavePrefix(_ name: Span<UInt8>) -> Bool {
        guard !name.isEmpty else { return false }
        return switch name[0] {
        case UInt8(ascii: "p"), UInt8(ascii: "c"), UInt8(ascii: "#"): true
        default: false
        }
    }

    /// What a user's own channel begins with; the user's id follows.
    static let serverToUserPrefix: StaticString = "#server-to-user-"

    /// Whether a subscription needs a signature of the app's backend.
    public var requiresSignature: Bool {
        switch self {
        case .private, .privateCache, .encrypted, .encryptedCache, .presence, .presenceCache: true
        case .public, .cache, .serverToUser: false
        }
    }

    /// Whether the channel has members with ids.
    public var isPresence: Bool { self == .presence || self == .presenceCache }

    /// Whether the payload is encrypted; the broker only passes it on.
    public var isEncrypted: Bool { self == .encrypted || self == .encryptedCache }

    /// Whether the last event is kept for later subscribers.
    public var isCache: Bool {
        switch self {
        case .cache, .privateCache, .encryptedCache, .presenceCache: true
        case .public, .private, .encrypted, .presence, .serverToUser: false
        }
    }

    /// Whether clients may send events on it, given that the app allows them to.
    public var allowsClientEvents: Bool { requiresSignature }
}
