import Glibc

/// The IP addresses with a common prefix (RFC 4632): a single one, or all of a network.
public struct AddressRange: Sendable, Hashable {
    private let bytes: [UInt8]
    private let prefixLength: Int

    /// Parses `127.0.0.1`, `10.0.0.0/8`, `::1` or `fd00::/8`; nil for anything else.
    ///
    /// The address's bits after the prefix are ignored. A range of mapped addresses (`::ffff:10.0.0.0/104`) becomes the
    /// IPv4 range that it represents, as do the addresses of peers (RFC 4291 §2.5.5.2).
    ///
    /// - Parameter text: A numeric address without brackets, optionally followed by a slash and the prefix length in
    ///   bits.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = SocketAddress(ip: String(parts[0]), port: 0),
            !parts[0].hasPrefix("["), let bytes = address.ipBytes
        else { return nil }
        guard parts.count == 2 else {
            self.init(bytes, prefixLength: bytes.count * 8)
            return
        }
        guard parts[1].utf8.count <= 3, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let length = Int(parts[1]), length <= bytes.count * 8
        else { return nil }
        self.init(bytes, prefixLength: length)
    }

    private init(_ bytes: [UInt8], prefixLength: Int) {
        let isMapped = prefixLength >= 96 && bytes.starts(with: SocketAddress.mappedPrefix)
        self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
        self.prefixLength = isMapped ? prefixLength - 96 : prefixLength
    }

    /// Returns whether the range contains an address; false for another family or a Unix-domain socket.
    ///
    /// A mapped address counts as the IPv4 address that it represents.
    public func contains(_ address: SocketAddress) -> Bool {
        guard var other = address.ipBytes else { return false }
        if other.starts(with: SocketAddress.mappedPrefix) { other = Array(other.suffix(4)) }
        guard other.count == bytes.count else { return false }
        let (whole, rest) = prefixLength.quotientAndRemainder(dividingBy: 8)
        guard other[..<whole] == bytes[..<whole] else { return false }
        return rest == 0 || (other[whole] ^ bytes[whole]) >> (8 - rest) == 0
    }
}

extension SocketAddress {
    /// The 4 or 16 bytes of the IP address; nil for a Unix-domain socket.
    public var ipBytes: [UInt8]? {
        switch family {
        case .version4(let bytes, _), .version6(let bytes, _, _): bytes
        case .unix: nil
        }
    }
}
