package import HTTP1
package import Net

/// The part of a client's address that limits per address count: an IPv4 address, or the /64 of an IPv6 address, which
/// one site or one machine usually has for itself (RFC 6177).
package struct ClientAddress: Hashable, Sendable {
    /// The first 64 bits of an IPv6 address, or the last of an IPv4-mapped one, in whose range no IPv6 network lies.
    private let network: UInt64

    /// Extracts the counted part of an address; `nil` for a Unix-domain socket.
    init?(_ address: SocketAddress) {
        guard let number = address.number else { return nil }
        network = UInt64(truncatingIfNeeded: SocketAddress.isMapped(number) ? number : number >> 64)
    }

    private init(network: UInt64) { self.network = network }

    /// A number that other addresses rarely have; never 0.
    var digest: UInt32 {
        let mixed = (network ^ network >> 32) &* 0x9E37_79B9_7F4A_7C15
        return max(1, UInt32(truncatingIfNeeded: mixed >> 32))
    }

    /// All clients whose address a trusted proxy has not written readably; in the range of no network.
    static let unreadable = ClientAddress(network: 0xFFFE << 32)
}

/// The proxies whose `X-Forwarded-For` is trusted.
package struct TrustedProxies: Sendable {
    private let ranges: [AddressRange]
    /// Called with a peer and an entry of its field that is no address.
    private let unreadable: @Sendable (SocketAddress, String) -> Void

    package init(
        _ texts: [String],
        unreadable: @escaping @Sendable (SocketAddress, String) -> Void = { _, _ in }
    ) {
        ranges = texts.compactMap(AddressRange.init)
        self.unreadable = unreadable
    }

    /// Returns the address of the client behind a connection.
    ///
    /// That is the peer's, unless the peer is a trusted proxy or is connected through a Unix-domain socket, as only
    /// proxies are. Then it is the last address in `X-Forwarded-For` that is not a trusted proxy: what precedes it may
    /// be forged.
    ///
    /// - Parameters:
    ///   - peer: The peer's address; `nil` when the connection has closed.
    ///   - head: The request.
    /// - Returns: The address, or ``ClientAddress/unreadable``; `nil` if it is unknown: then no limit per address applies.
    package func client(of peer: SocketAddress?, _ head: RequestHead) -> ClientAddress? {
        switch source(of: peer, head) {
        case .address(let address): return ClientAddress(address)
        case .unreadable(let text):
            if let peer { unreadable(peer, text) }
            return .unreadable
        case .unknown: return nil
        }
    }

    /// The same as the whole address; the port is 0 if a proxy has not given it.
    func address(of peer: SocketAddress?, _ head: RequestHead) -> SocketAddress? {
        guard case .address(let address) = source(of: peer, head) else { return nil }
        return address
    }

    /// What a request says about its client.
    private enum Source {
        case address(SocketAddress)
        /// The entry of a trusted proxy that is no address.
        case unreadable(String)
        /// The connection has closed, or only trusted proxies are named, as by a client on this machine.
        case unknown
    }

    private func source(of peer: SocketAddress?, _ head: RequestHead) -> Source {
        guard let peer else { return .unknown }
        guard isTrusted(peer) else { return .address(peer) }
        guard head.isForwarded else { return .unknown }
        let fields = head.fields("x-forwarded-for")
        let entries = fields.joined(separator: ",").utf8.split(separator: UInt8(ascii: ","))
            .map { $0.drop(while: Self.isSpace) }.filter { !$0.isEmpty }
        guard !entries.isEmpty else { return .unreadable("") }
        for entry in entries.reversed() {
            guard let address = Self.address(entry) else {
                return .unreadable(String(decoding: entry, as: UTF8.self))
            }
            if !isTrusted(address) { return .address(address) }
        }
        return .unknown
    }

    private func isTrusted(_ address: SocketAddress) -> Bool {
        address.isUnix || ranges.contains { $0.contains(address) }
    }

    /// Parses an entry of the field: an address, to which some proxies append a port, and which some write in quotes or
    /// brackets.
    private static func address(_ entry: Substring.UTF8View) -> SocketAddress? {
        let length = entry.reversed().drop(while: isSpace).count
        var bytes = Array(entry.prefix(length))
        let quote = UInt8(ascii: "\"")
        if bytes.count > 2, bytes.first == quote, bytes.last == quote {
            bytes = Array(bytes[1..<(bytes.count - 1)])
        }
        if let address = SocketAddress(ip: String(decoding: bytes, as: UTF8.self), port: 0) {
            return address
        }
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        return SocketAddress(ip: String(decoding: bytes[..<colon], as: UTF8.self), port: 0)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
