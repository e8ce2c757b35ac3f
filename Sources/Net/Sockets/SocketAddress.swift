import CLinux
import Glibc

/// An address to listen on or to connect to: an IP address with a port, or a socket in the file system.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    enum Family: Hashable {
        /// Four bytes in the order of the text.
        case version4([UInt8], port: UInt16)
        /// Sixteen bytes, and the interface of a link-local address.
        case version6([UInt8], port: UInt16, scope: UInt32)
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
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET6, text, &bytes) == 1 {
            family = .version6(bytes, port: port, scope: 0)
        } else if !isBracketed, inet_pton(AF_INET, text, &bytes) == 1 {
            family = .version4(Array(bytes.prefix(4)), port: port)
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
        case .version4(let bytes, _): Self.text(AF_INET, bytes)
        case .version6(let bytes, _, _): Self.text(AF_INET6, bytes)
        case .unix: nil
        }
    }

    /// Whether only this machine can reach the address: 127/8, `::1` or a Unix-domain socket.
    public var isLoopback: Bool {
        switch family {
        case .version4(let bytes, _):
            bytes[0] == 127
        case .version6(let bytes, _, _):
            bytes == [UInt8](repeating: 0, count: 15) + [1]
                || bytes.starts(with: Self.mappedPrefix + [127])
        case .unix:
            true
        }
    }

    /// Whether it stands for every network of the machine: `0.0.0.0`, or `::`, which includes IPv4.
    public var isUnspecified: Bool { ipBytes?.allSatisfy { $0 == 0 } ?? false }

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

    /// The prefix of an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2).
    static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [255, 255]

    private static func text(_ family: Int32, _ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        inet_ntop(family, bytes, &text, socklen_t(text.count))
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
        case .version4(let bytes, let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
            withUnsafeMutableBytes(of: &storage) {
                $0.storeBytes(of: address, as: sockaddr_in.self)
            }
            return socklen_t(MemoryLayout<sockaddr_in>.size)
        case .version6(let bytes, let port, let scope):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_scope_id = scope
            withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
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
                var address = raw.load(as: sockaddr_in.self)
                let bytes = withUnsafeBytes(of: &address.sin_addr) { Array($0) }
                return .version4(bytes, port: UInt16(bigEndian: address.sin_port))
            case AF_INET6:
                var address = raw.load(as: sockaddr_in6.self)
                let bytes = withUnsafeBytes(of: &address.sin6_addr) { Array($0) }
                let port = UInt16(bigEndian: address.sin6_port)
                if bytes.starts(with: Self.mappedPrefix) {
                    return .version4(Array(bytes.suffix(4)), port: port)
                }
                return .version6(bytes, port: port, scope: address.sin6_scope_id)
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

    /// Reads the address with `getsockname` or `getpeername`.
    init?(of fd: Int32, _ ask: (Int32, UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { ask(fd, $0, &length) }
        }
        guard result == 0 else { return nil }
        self.init(storage)
    }
}
