internal import Glibc

/// The bytes of an IP address.
struct IPAddress: Sendable, Equatable {
    /// 4 bytes of IPv4 or 16 of IPv6.
    private let bytes: [UInt8]

    /// Parses a numeric address; `nil` for anything else, including names.
    init?(_ text: String) {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.bytes = Array(bytes.prefix(4))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.bytes = bytes
        } else {
            return nil
        }
    }

    /// Whether only this machine can reach the address: 127.0.0.0/8, also mapped to IPv6, and ::1.
    var isLoopback: Bool {
        if bytes.count == 4 { return bytes[0] == 127 }
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        if bytes.starts(with: mapped) { return bytes[12] == 127 }
        return bytes == [UInt8](repeating: 0, count: 15) + [1]
    }
}
