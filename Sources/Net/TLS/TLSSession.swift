import COpenSSL
import Glibc

/// What became of a TLS connection's handshake.
public struct TLSFacts: Hashable, Sendable {
    /// `TLSv1.2` or `TLSv1.3`.
    public var version: String
    /// The cipher suite by OpenSSL's name.
    public var cipher: String
    /// Whether an earlier session was resumed, which spares the certificate.
    public var isResumed: Bool
    /// What ALPN agreed on (RFC 7301): `http/1.1`, or nil if the peer did not ask.
    public var applicationProtocol: String?
    /// The host that the client asked for (SNI), or nil.
    public var serverName: String?
}

/// The TLS of one stream: an `SSL` over the stream's descriptor.
///
/// A server's has none before its handshake begins: with its buffers one takes some 45 KiB, which a client that says
/// nothing shall not cost.
final class TLSSession {
    private var ssl: OpaquePointer?
    private let fd: Int32
    private let context: TLSContext
    private let serverName: String?
    /// Bytes of a write that was refused after it had been encrypted: they must be offered again.
    private(set) var promised = 0
    /// SHA-256 digests of the server's keys, its own first, if none of them was pinned.
    var unpinned: [[UInt8]]?

    /// The most bytes that one record carries (RFC 8446 §5.1).
    static var recordLengthMax: Int { 16 << 10 }

    /// What a call came to.
    enum Progress {
        /// Bytes read or written; 0 for a handshake or a shutdown that is complete.
        case done(Int)
        case wantsRead, wantsWrite
        /// The peer sent `close_notify`, or nothing more at all.
        case ended
        case failed(StreamError)
    }

    /// Prepares a handshake.
    ///
    /// - Parameters:
    ///   - context: The server's or the client's side.
    ///   - fd: The connected socket, which the stream owns.
    ///   - serverName: For a client, the host to ask for and to verify; nil for a server.
    /// - Throws: `badHost`, or a call of OpenSSL that failed.
    init(_ context: TLSContext, fd: Int32, serverName: String?) throws(TLSError) {
        self.context = context
        self.fd = fd
        self.serverName = serverName
        guard let serverName else { return }
        try makeSSL()
        SSL_set_connect_state(ssl)
        try prepareClient(serverName)
    }

    deinit { SSL_free(ssl) }

    /// Whether there is anything of the handshake yet.
    var hasBegun: Bool { ssl != nil }

    private func makeSSL() throws(TLSError) {
        ssl = try context.makeSSL()
        let bio = try DescriptorBIO.make(fd)
        // Both directions are one BIO, which the SSL frees.
        SSL_set_bio(ssl, bio, bio)
    }

    private func prepareClient(_ host: String) throws(TLSError) {
        guard !host.isEmpty, !host.utf8.contains(0) else { throw .badHost(host) }
        if let ip = SocketAddress(ip: host, port: 0)?.ip {
            // RFC 6066 §3: an address is no server name.
            if context.verifies {
                let parameters = SSL_get0_param(ssl)
                try TLSError.check(
                    X509_VERIFY_PARAM_set1_ip_asc(parameters, ip),
                    "X509_VERIFY_PARAM_set1_ip_asc"
                )
            }
        } else {
            try TLSError.check(shim_SSL_set_host_name(ssl, host), "SSL_set_tlsext_host_name")
            if context.verifies {
                SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
                try TLSError.check(SSL_set1_host(ssl, host), "SSL_set1_host")
            }
        }
        // SAFETY: unretained; used only inside calls made with this SSL, which are ours.
        SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        if let session = context.takeSession(of: host) {
            SSL_set_session(ssl, session)
            SSL_SESSION_free(session)
        }
    }

    /// Keeps a session that the server gave for resumption; false leaves it to OpenSSL.
    func keep(_ session: OpaquePointer) -> Bool {
        guard let serverName else { return false }
        context.keep(session, of: serverName)
        return true
    }

    // MARK: Calls

    func handshake() -> Progress {
        if !hasBegun {
            do throws(TLSError) {
                try makeSSL()
                SSL_set_accept_state(ssl)
            } catch {
                return .failed(.tls(error))
            }
        }
        begin()
        let result = SSL_do_handshake(ssl)
        if result == 1 { return .done(0) }
        let progress = judge(result, "SSL_do_handshake")
        if case .ended = progress { return .failed(.tls(.endedInHandshake)) }
        return progress
    }

    func read(into room: UnsafeMutableBufferPointer<UInt8>) -> Progress {
        begin()
        let result = SSL_read(ssl, room.baseAddress, Int32(clamping: room.count))
        return result > 0 ? .done(Int(result)) : judge(result, "SSL_read")
    }

    /// Encrypts and sends one record at most.
    func write(_ base: UnsafeRawPointer, _ count: Int) -> Progress {
        assert(count >= promised)
        begin()
        let result = SSL_write(ssl, base, Int32(clamping: count))
        if result > 0 {
            promised = 0
            return .done(Int(result))
        }
        promised = min(count, Self.recordLengthMax)
        return judge(result, "SSL_write")
    }

    /// Sends `close_notify`; the peer's is not waited for, since its FIN says as much.
    func shutDown() -> Progress {
        guard hasBegun else { return .done(0) }
        begin()
        let result = SSL_shutdown(ssl)
        return result >= 0 ? .done(0) : judge(result, "SSL_shutdown")
    }

    /// What SSL_get_error(3) says must not be an earlier call's error, of whatever connection.
    private func begin() {
        // Clearing walks all the places of the queue, at every write: looking first is cheaper.
        if ERR_peek_error() != 0 { ERR_clear_error() }
        errno = 0
    }

    private func judge(_ result: Int32, _ call: String) -> Progress {
        let code = errno
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .ended
        case SSL_ERROR_SYSCALL:
            // Without an error it was the end, though without close_notify (RFC 8446 §6.1).
            // HTTP and WebSocket know their own ends, so nothing can be cut off unnoticed.
            return code == 0 ? .ended : .failed(.system(SystemError(call: call, code: code)))
        default:
            if let unpinned {
                ERR_clear_error()
                return .failed(.tls(.unpinned(keys: unpinned)))
            }
            let verdict = SSL_get_verify_result(ssl)
            if context.verifies && verdict != Int(X509_V_OK) {
                ERR_clear_error()
                return .failed(.tls(.untrusted(reason: reason(verdict))))
            }
            return .failed(.tls(.refused(reason: TLSError.takeReason())))
        }
    }

    private func reason(_ verdict: Int) -> String {
        let reason = String(cString: X509_verify_cert_error_string(verdict))
        switch Int32(verdict) {
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "\(reason): it does not name \(serverName ?? "")"
        default: return reason
        }
    }

    // MARK: Facts

    var facts: TLSFacts {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        let agreed = UnsafeBufferPointer(start: name, count: Int(length))
        return TLSFacts(
            version: String(cString: SSL_get_version(ssl)),
            cipher: SSL_get_current_cipher(ssl)
                .flatMap { SSL_CIPHER_get_name($0) }.map { String(cString: $0) } ?? "",
            isResumed: SSL_session_reused(ssl) == 1,
            applicationProtocol: length == 0 ? nil : String(decoding: agreed, as: UTF8.self),
            serverName: SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)
                .map { String(cString: $0) }
        )
    }
}
