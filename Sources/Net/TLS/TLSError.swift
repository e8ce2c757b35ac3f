import COpenSSL

/// A TLS error: in the configuration, or in a peer's handshake or records.
public enum TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A certificate, key or trust file cannot be read.
    case unreadable(path: String, SystemError)
    /// The bytes contain no certificate in PEM form.
    case noCertificate(reason: String)
    /// The bytes contain no private key in PEM form; one with a passphrase counts as none.
    case noKey(reason: String)
    /// The private key does not belong to the certificate.
    case keyMismatch(reason: String)
    /// A server needs at least one certificate.
    case noCertificates
    /// The host is not a valid name or IP address.
    case badHost(String)
    /// A call of OpenSSL failed, for example for lack of memory.
    case library(call: String, reason: String)
    /// The peer violated the protocol, offered nothing acceptable, or sent an alert.
    case refused(reason: String)
    /// The peer's certificate is not trusted, or is for another host.
    case untrusted(reason: String)
    /// None of the peer's keys is pinned. The value has their SHA-256 digests, the peer's own first.
    case unpinned(keys: [[UInt8]])
    /// The peer closed the connection in the middle of the handshake.
    case endedInHandshake
    /// The peer sent an HTTP request without TLS.
    case plaintext

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
        case .plaintext: "the peer has sent an HTTP request without TLS"
        case .endedInHandshake: "the peer closed the connection in the TLS handshake"
        }
    }

    /// Clears OpenSSL's error queue and returns the reason of the first error, which is the cause of the later ones.
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

    /// Throws if a call of OpenSSL returned null.
    static func check(
        _ result: OpaquePointer?,
        _ call: String
    ) throws(TLSError) -> OpaquePointer {
        guard let result else { throw .library(call: call, reason: takeReason()) }
        return result
    }
}
