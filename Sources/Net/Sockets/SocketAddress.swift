import CLinux
import Glibc

/// An address to listen on or to connect to: an IP address with a port, or a socket in the file system.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    enum Family: Hashable {
        /// The first byte of the text is the highest of the number.
        case version4(UInt32, port: UInt16)
        /// With the interface of a link-local address.
        case version6(UInt128, port: UInt16, scope: UInt32)
        case unix(path: String)
    }
    let family: Family

    init(family: Family) { self.family = family }

    /// Parses a numeric IP address; nil for anything else.
    ///
    /// - Parameters:
    ///   - ip: `127.0.0.1`, `::1`, or `[::1]`; not a host name.
    ///   - port: The port; 0 lets the kernel choose one when listening.
    public init?(ip: String, port: UInt16) {
        // By bytes: a proxy passes on what its client has sent.
        let isBracketed =
            ip.utf8.first == UInt8(ascii: "[") && ip.utf8.last == UInt8(ascii: "]")
        let text = isBracketed ? String(Substring(ip.utf8.dropFirst().dropLast())) : ip
        guard !text.utf8.contains(0) else { return nil }
        var (number4, number6): (UInt32, UInt128) = (0, 0)
        if inet_pton(AF_INET6, text, &number6) == 1 {
            family = .version6(UInt128(bigEndian: number6), port: port, scope: 0)
        } else if !isBracketed, inet_pton(AF_INET, text, &number4) == 1 {
            family = .version4(UInt32(bigEndian: number4), port: port)
        } else {
            return nil
        }
    }

    /// Makes the address of a Unix-domain stream socket; Linux allows a path of 107 bytes, and a longer one fails when
    /// used.
    public static func unix(path: String) -> SocketAddress {
        SocketAddress(family: .unix(path: path))
    }

    /// The port; nil for a Unix-domain socket.
    public var port: UInt16? {
        switch family {
        case .version4(_, let port), .version6(_, let port, _): port
        case .unix: nil
        }
    }

    /// The IP address without its port, without brackets; nil for a Unix-domain socket.
    public var ip: String? {
        switch family {
        case .version4(let number, _): Self.text(AF_INET, number.bigEndian)
        case .version6(let number, _, _): Self.text(AF_INET6, number.bigEndian)
        case .unix: nil
        }
    }

    /// Whether only this machine can reach the address: 127/8, `::1` or a Unix-domain socket.
    public var isLoopback: Bool {
        switch family {
        case .version4(let number, _): number >> 24 == 127
        case .version6(let number, _, _):
            number == 1 || number >> 24 == Self.mappedPrefix << 8 + 127
        case .unix: true
        }
    }

    /// Whether it stands for every network of the machine: `0.0.0.0`, or `::`, which includes IPv4.
    public var isUnspecified: Bool {
        switch family {
        case .version4(let number, _): number == 0
        case .version6(let number, _, _): number == 0
        case .unix: false
        }
    }

    /// Whether this is a Unix-domain socket.
    public var isUnix: Bool { port == nil }

    /// For example `127.0.0.1:6001`, `[::1]:6001` or `unix:/run/fanfare.sock`.
    public var description: String {
        switch family {
        case .version4(_, let port): "\(ip ?? ""):\(port)"
        case .version6(_, let port, _): "[\(ip ?? "")]:\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// The first 96 bits of an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2).
    private static var mappedPrefix: UInt128 { 0xFFFF }

    /// The IPv6 address, or the IPv4-mapped one of an IPv4 address, as a number; nil for a Unix-domain socket.
    public var number: UInt128? {
        switch family {
        case .version4(let number, _): Self.mappedPrefix << 32 | UInt128(number)
        case .version6(let number, _, _): number
        case .unix: nil
        }
    }

    /// Whether a number is an IPv4-mapped address.
    public static func isMapped(_ number: UInt128) -> Bool { number >> 32 == mappedPrefix }

    private static func text(_ family: Int32, _ number: some FixedWidthInteger) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        withUnsafeBytes(of: number) {
            _ = inet_ntop(family, $0.baseAddress, &text, socklen_t(text.count))
        }
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
    }
}

// MARK: The kernel's form

extension SocketAddress {
    var protocolFamily: Int32 {
        switch family {
        case .version4: AF_INET
        case .version6: AF_INET6
        case .unix: AF_UNIX
        }
    }

    /// Calls `body` with the address in the kernel's form.
    func withRaw<R>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
    ) throws(SystemError) -> R {
        var storage = sockaddr_storage()
        let length = try fill(&storage)
        return withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    private func fill(_ storage: inout sockaddr_storage) throws(SystemError) -> socklen_t {
        switch family {
        case .version4(let number, let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = number.bigEndian
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(of: address, as: sockaddr_in.self)
            }
            return socklen_t(MemoryLayout<sockaddr_in>.size)
        case .version6(let number, let port, let scope):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_scope_id = scope
            withUnsafeMutableBytes(of: &address.sin6_addr) {
                $0.storeBytes(of: number.bigEndian, as: UInt128.self)
            }
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(of: address, as: sockaddr_in6.self)
            }
            return socklen_t(MemoryLayout<sockaddr_in6>.size)
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(path.utf8)
            // The path ends with a zero byte; one that begins with it is in the abstract namespace.
            guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
                throw SystemError(call: "bind or connect", code: ENAMETOOLONG)
            }
            guard !bytes.isEmpty, !bytes.contains(0) else {
                throw SystemError(call: "bind or connect", code: EINVAL)
            }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(of: address, as: sockaddr_un.self)
            }
            return socklen_t(MemoryLayout<sockaddr_un>.size)
        }
    }

    /// Reads an address that the kernel filled in; nil for an unknown family.
    ///
    /// An IPv4-mapped IPv6 address becomes the IPv4 address.
    init?(_ storage: sockaddr_storage) {
        var storage = storage
        let family: Family? = withUnsafeBytes(of: &storage) { raw in
            switch Int32(raw.load(as: sockaddr_storage.self).ss_family) {
            case AF_INET:
                let address = raw.load(as: sockaddr_in.self)
                return .version4(
                    UInt32(bigEndian: address.sin_addr.s_addr),
                    port: UInt16(bigEndian: address.sin_port)
                )
            case AF_INET6:
                var address = raw.load(as: sockaddr_in6.self)
                let number = withUnsafeBytes(of: &address.sin6_addr) {
                    UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self))
                }
                let port = UInt16(bigEndian: address.sin6_port)
                if Self.isMapped(number) {
                    return .version4(UInt32(truncatingIfNeeded: number), port: port)
                }
                return .version6(number, port: port, scope: address.sin6_scope_id)
            case AF_UNIX:
                var address = raw.load(as: sockaddr_un.self)
                let path = withUnsafeBytes(of: &address.sun_path) { $0.prefix { $0 != 0 } + [] }
                return .unix(path: String(decoding: path, as: UTF8.self))
            default:
                return nil
            }
        }
        guard let family else { return nil }
        self.family = family
    }

    /// Reads the address that `getsockname` or `getpeername` fills in; nil if the call fails.
    init?(_ ask: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32) {
        var storage = sockaddr_storage()
        guard Self.fill(&storage, ask) == 0 else { return nil }
        self.init(storage)
    }

    /// Calls `ask` with the memory for an address, and returns its result.
    static func fill(
        _ storage: inout sockaddr_storage,
        _ ask: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32
    ) -> Int32 {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask($0, &length) }
        }
    }
}
