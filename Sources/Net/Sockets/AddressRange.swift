import Glibc

/// The IP addresses with a common prefix (RFC 4632): a single one, or all of a network.
public struct AddressRange: Sendable, Hashable {
    private let number: UInt128
    /// The number of bits after the prefix.
    private let hostBitCount: Int

    /// Parses `127.0.0.1`, `10.0.0.0/8`, `::1` or `fd00::/8`; nil for anything else.
    ///
    /// The address's bits after the prefix are ignored. A range of mapped addresses (`::ffff:10.0.0.0/104`) becomes the
    /// IPv4 range that it represents, as do the addresses of peers (RFC 4291 §2.5.5.2).
    ///
    /// - Parameter text: A numeric address without brackets, optionally followed by a slash and the prefix length in
    ///   bits.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, !parts[0].hasPrefix("["),
            let address = SocketAddress(ip: String(parts[0]), port: 0), let number = address.number
        else { return nil }
        self.number = number
        guard parts.count == 2 else {
            hostBitCount = 0
            return
        }
        let bitCount = address.protocolFamily == AF_INET ? 32 : 128
        guard parts[1].utf8.count <= 3, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let length = Int(parts[1]), length <= bitCount
        else { return nil }
        hostBitCount = bitCount - length
    }

    /// Returns whether the range contains an address; false for another family or a Unix-domain socket.
    ///
    /// A mapped address counts as the IPv4 address that it represents.
    public func contains(_ address: SocketAddress) -> Bool {
        guard let other = address.number else { return false }
        // A shorter prefix is that of an IPv6 network.
        guard hostBitCount <= 32 || !SocketAddress.isMapped(other) else { return false }
        return (number ^ other) >> hostBitCount == 0
    }
}
