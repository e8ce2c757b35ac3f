import HTTP1
import Net

/// Where a client comes from, as far as limits by address tell clients apart: an IPv4 address, or the /64 of IPv6 that
/// one household or one rented machine has for itself (RFC 6177).
struct ClientAddress: Hashable, Sendable {
    /// The first eight bytes of an IPv6 address; those of an IPv4 one stand where nobody has an IPv6 network.
    private let network: UInt64

    /// The part that counts of an address; `nil` for a Unix-domain socket.
    init?(_ address: SocketAddress) {
        guard let bytes = address.ipBytes else { return nil }
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mappedPrefix)
        let counted = isMapped ? bytes.suffix(4) : bytes.prefix(8)
        let number = counted.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        network = counted.count == 4 ? 0xFFFF << 32 | number : number
    }

    /// What precedes an IPv4 address inside an IPv6 one (RFC 4291 §2.5.5.2).
    private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [255, 255]
}

/// The proxies that may say whom they speak for.
struct TrustedProxies: Sendable {
    private let ranges: [AddressRange]

    init(_ texts: [String]) { ranges = texts.compactMap(AddressRange.init) }

    /// The client behind a connection.
    ///
    /// That is the peer itself, unless it is a proxy that is trusted, or speaks through a Unix-domain socket, as only a
    /// proxy does. Then it is the last in `X-Forwarded-For` that is no such proxy: what stands before it may be invented.
    ///
    /// - Parameters:
    ///   - peer: The other end of the connection; `nil` when it has gone.
    ///   - head: The request.
    /// - Returns: `nil` when nobody knows: then no limit by address holds.
    func client(of peer: SocketAddress?, _ head: RequestHead) -> ClientAddress? {
        guard let peer else { return nil }
        guard isTrusted(peer) else { return ClientAddress(peer) }
        let named = head.fields("x-forwarded-for").joined(separator: ",").split(separator: ",")
        for text in named.reversed() {
            guard let address = Self.address(text) else { return nil }
            if !isTrusted(address) { return ClientAddress(address) }
        }
        return nil
    }

    private func isTrusted(_ address: SocketAddress) -> Bool {
        address.isUnix || ranges.contains { $0.contains(address) }
    }

    /// An entry of the field: an address, which some proxies write with a port behind it.
    private static func address(_ text: Substring) -> SocketAddress? {
        let text = text.drop { $0 == " " || $0 == "\t" }
        let end = text.lastIndex { $0 != " " && $0 != "\t" }
        guard let end else { return nil }
        let entry = text[...end]
        if let address = SocketAddress(ip: String(entry), port: 0) { return address }
        guard let colon = entry.lastIndex(of: ":") else { return nil }
        return SocketAddress(ip: String(entry[..<colon]), port: 0)
    }
}
