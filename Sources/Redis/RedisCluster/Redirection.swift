/// An error by which a server of a Redis Cluster names another one.
///
/// See the Redis Cluster specification, "Redirection and resharding".
public struct Redirection: Hashable, Sendable {
    /// The state of the other server.
    public enum Kind: Sendable {
        /// It has the slot from now on (`MOVED`).
        case moved
        /// It is taking over the slot, and has none of the call's keys elsewhere (`ASK`).
        ///
        /// Not followed. A script with several keys, of which some do not exist, is refused on both sides until the
        /// slot has moved (`TRYAGAIN`). So the call is repeated until then.
        case ask
    }

    /// The state of the other server.
    public var kind: Kind
    /// The slot.
    public var slot: Int
    /// The other server.
    public var server: RedisURL.Location

    /// Reads an error; nil for others, and if the server is unknown.
    ///
    /// The other server may have the host of `url`, the server that has sent the error.
    public init?(_ error: RedisError, from url: RedisURL) {
        let kind: Kind
        switch error.code {
        case .moved: kind = .moved
        case .ask: kind = .ask
        default: return nil
        }
        // CODE SLOT HOST:PORT, with colons in the host of IPv6.
        let words = error.text.split(separator: " ")
        guard words.count >= 3, let slot = Int(words[1]), 0..<SlotMap.slotCount ~= slot,
            let colon = words[2].lastIndex(of: ":"),
            let port = UInt16(words[2][words[2].index(after: colon)...]),
            let server = url.location(endpoint: String(words[2][..<colon]), port: port)
        else { return nil }
        (self.kind, self.slot, self.server) = (kind, slot, server)
    }
}
