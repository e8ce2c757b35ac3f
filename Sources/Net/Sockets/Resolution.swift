import CLinux
import Glibc

/// A host name that cannot be resolved.
public struct ResolveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The host name.
    public var host: String
    /// The error code of getaddrinfo(3).
    public var code: Int32

    /// For example `no.such.host: Name or service not known`.
    public var description: String { "\(host): \(String(cString: gai_strerror(code)))" }
}

extension SocketAddress {
    /// Resolves a host to addresses, in the order in which to try them (RFC 6724).
    ///
    /// Blocks for as long as the name servers take, so never call it on a loop's thread.
    ///
    /// - Parameters:
    ///   - host: A name, or an IP address with or without brackets.
    ///   - port: The port of the returned addresses.
    /// - Returns: At least one address.
    /// - Throws: The reason why the name cannot be resolved.
    public static func resolve(
        host: String,
        port: UInt16
    ) throws(ResolveError) -> [SocketAddress] {
        if let address = SocketAddress(ip: host, port: port) { return [address] }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var first: UnsafeMutablePointer<addrinfo>?
        var code = getaddrinfo(host, String(port), &hints, &first)
        // With AI_ADDRCONFIG a machine that has only a loopback interface cannot resolve localhost.
        if code != 0 {
            hints.ai_flags = 0
            code = getaddrinfo(host, String(port), &hints, &first)
        }
        guard code == 0 else { throw ResolveError(host: host, code: code) }
        defer { freeaddrinfo(first) }
        var addresses: [SocketAddress] = []
        var next = first
        while let info = next {
            var storage = sockaddr_storage()
            let length = min(Int(info.pointee.ai_addrlen), MemoryLayout<sockaddr_storage>.size)
            memcpy(&storage, info.pointee.ai_addr, length)
            if let address = SocketAddress(storage), !addresses.contains(address) {
                addresses.append(address)
            }
            next = info.pointee.ai_next
        }
        guard !addresses.isEmpty else { throw ResolveError(host: host, code: EAI_NONAME) }
        return addresses
    }
}
