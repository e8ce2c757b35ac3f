import COpenSSL

/// A fault of TLS: of our own configuration, or of a peer's handshake or records.
public enum TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A certificate, key or trust file cannot be read.
    case unreadable(path: String, SystemError)
    /// The bytes hold no certificate in PEM form.
    case noCertificate(reason: String)
    /// The bytes hold no private key in PEM form; one with a passphrase counts as none.
    case noKey(reason: String)
    /// The private key does not belong to the certificate.
    case keyMismatch(reason: String)
    /// A server needs at least one certificate.
    case noCertificates
    /// A host that no certificate can name.
    case badHost(String)
    /// A call of OpenSSL failed, such as for lack of memory.
    case library(call: String, reason: String)
    /// The peer broke the protocol, offers nothing that we accept, or sent an alert.
    case refused(reason: String)
    /// The peer's certificate is not trusted, or is another host's.
    case untrusted(reason: String)
    /// None of the peer's keys is pinned; these are their SHA-256 digests, its own first.
    case unpinned(keys: [[UInt8]])
    /// The peer closed the connection in the middle of the handshake.
    case endedInHandshake

    /// A sentence for a log.
    public var description: String {
        switch self {
        case .unreadable(let path, let error): "cannot read \(path): \(error)"
        case .noCertificate(let reason): "no certificate in PEM form: \(reason)"
        case .noKey(let reason): "no unencrypted private key in PEM form: \(reason)"
        case .keyMismatch(let reason): "the key does not belong to the certificate: \(reason)"
        case .noCertificates: "a TLS server needs a certificate"
        case .badHost(let host): "\"\(host)\" is neither a host name nor an IP address"
        case .library(let call, let reason): "\(call): \(reason)"
        case .refused(let reason): "TLS: \(reason)"
        case .untrusted(let reason): "the peer's certificate is not trusted: \(reason)"
        case .unpinned(let keys):
            "none of the peer's \(keys.count) certificates has a key that is pinned"
        case .endedInHandshake: "the peer closed the connection in the TLS handshake"
        }
    }

    /// Empties OpenSSL's queue of errors and names the first: what failed, before its consequences.
    static func takeReason() -> String {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return "unknown error" }
        if let reason = ERR_reason_error_string(code) { return String(cString: reason) }
        return "error \(String(code, radix: 16))"
    }

    /// Throws if a call of OpenSSL did not return 1.
    static func check(_ result: Int32, _ call: String) throws(TLSError) {
        guard result == 1 else { throw .library(call: call, reason: takeReason()) }
    }

    /// Throws if a call of OpenSSL returned nothing.
    static func check(
        _ result: OpaquePointer?,
        _ call: String
    ) throws(TLSError) -> OpaquePointer {
        guard let result else { throw .library(call: call, reason: takeReason()) }
        return result
    }
}
