internal import Glibc

/// The bytes of an IP address, as far as a configuration has to know it.
struct IPAddress: Sendable, Equatable {
    /// 4 bytes of IPv4 or 16 of IPv6.
    private let bytes: [UInt8]

    /// Reads an address by its digits; `nil` for anything else, names included.
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

    /// Whether only this machine can reach it: 127.0.0.0/8, also mapped into IPv6, and ::1.
    var isLoopback: Bool {
        if bytes.count == 4 { return bytes[0] == 127 }
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        if bytes.starts(with: mapped) { return bytes[12] == 127 }
        return bytes == [UInt8](repeating: 0, count: 15) + [1]
    }
}
