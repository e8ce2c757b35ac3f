import HTTP1
import Net

/// The part of a client's address that limits per address count: an IPv4 address, or the /64 of an IPv6 address, which
/// one site or one machine usually has for itself (RFC 6177).
struct ClientAddress: Hashable, Sendable {
    /// The first eight bytes of an IPv6 address; an IPv4 address is mapped to a range in which no IPv6 network lies.
    private let network: UInt64

    /// Extracts the counted part of an address; `nil` for a Unix-domain socket.
    init?(_ address: SocketAddress) {
        guard let bytes = address.ipBytes else { return nil }
        let isMapped = bytes.count == 16 && bytes.starts(with: Self.mappedPrefix)
        let counted = isMapped ? bytes.suffix(4) : bytes.prefix(8)
        let number = counted.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        network = counted.count == 4 ? 0xFFFF << 32 | number : number
    }

    /// The prefix of an IPv4 address in an IPv6 one (RFC 4291 §2.5.5.2).
    private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [255, 255]
}

/// The proxies whose `X-Forwarded-For` is trusted.
struct TrustedProxies: Sendable {
    private let ranges: [AddressRange]

    init(_ texts: [String]) { ranges = texts.compactMap(AddressRange.init) }

    /// Returns the address of the client behind a connection.
    ///
    /// That is the peer's, unless the peer is a trusted proxy or is connected through a Unix-domain socket, as only
    /// proxies are. Then it is the last address in `X-Forwarded-For` that is not a trusted proxy: what precedes it may
    /// be forged.
    ///
    /// - Parameters:
    ///   - peer: The peer's address; `nil` when the connection has closed.
    ///   - head: The request.
    /// - Returns: The address; `nil` if it is unknown: then no limit per address applies.
    func client(of peer: SocketAddress?, _ head: RequestHead) -> ClientAddress? {
        address(of: peer, head).flatMap { ClientAddress($0) }
    }

    /// The same as the whole address; the port is 0 if a proxy has not given it.
    func address(of peer: SocketAddress?, _ head: RequestHead) -> SocketAddress? {
        guard let peer else { return nil }
        guard isTrusted(peer) else { return peer }
        let entries = head.fields("x-forwarded-for").joined(separator: ",").utf8
            .split(separator: UInt8(ascii: ","))
        for text in entries.reversed() {
            guard let address = Self.address(text) else { return nil }
            if !isTrusted(address) { return address }
        }
        return nil
    }

    private func isTrusted(_ address: SocketAddress) -> Bool {
        address.isUnix || ranges.contains { $0.contains(address) }
    }

    /// Parses an entry of the field: an address, to which some proxies append a port.
    private static func address(_ text: Substring.UTF8View) -> SocketAddress? {
        let text = text.drop(while: isBlank)
        let end = text.lastIndex { !isBlank($0) }
        guard let end else { return nil }
        let entry = Substring(text[...end])
        if let address = SocketAddress(ip: String(entry), port: 0) { return address }
        guard let colon = entry.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        return SocketAddress(ip: String(entry[..<colon]), port: 0)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }
}
