import COpenSSL
import Glibc

/// The parameters that a TLS handshake negotiated.
public struct NegotiatedTLS: Hashable, Sendable {
    /// `TLSv1.2` or `TLSv1.3`.
    public var version: String
    /// OpenSSL's name of the cipher suite.
    public var cipher: String
    /// Whether an earlier session was resumed, without sending the certificate.
    public var isResumed: Bool
    /// The ALPN protocol (RFC 7301): `http/1.1`, or nil without a common one.
    public var applicationProtocol: String?
    /// The host that the client asked for (SNI), or nil.
    public var serverName: String?
}

/// The TLS of one stream: an `SSL` over the stream's descriptor.
///
/// A server makes the `SSL` only when the handshake begins. With its buffers it takes about 45 KiB, which a client that
/// sends nothing must not occupy.
final class TLSSession {
    private var ssl: OpaquePointer?
    private var fd: Int32
    private let context: TLSContext
    private let serverName: String?
    /// The length of a write that was refused after its encryption, and that must be retried with the same bytes.
    private(set) var retryLength = 0
    /// The SHA-256 digests of the server's keys, its own first, if none of them is pinned.
    var unpinned: [[UInt8]]?

    /// The maximum number of bytes in a record (RFC 8446 §5.1).
    static var recordLengthMax: Int { 16 << 10 }

    /// The result of a call.
    enum Progress {
        /// The number of bytes read or written; 0 for a complete handshake or shutdown.
        case done(Int)
        case wantsRead, wantsWrite
        /// The peer sent `close_notify`, or ended the connection without it.
        case ended
        case failed(StreamError)
    }

    /// Prepares a handshake.
    ///
    /// - Parameters:
    ///   - context: A server or client context.
    ///   - fd: The connected socket, owned by the stream.
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

    /// Continues on another descriptor of the same socket.
    func move(to fd: Int32) {
        self.fd = fd
        if hasBegun { DescriptorBIO.move(SSL_get_rbio(ssl), to: fd) }
    }

    /// Whether the handshake has begun.
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
            // RFC 6066 §3: an address is not allowed as a server name.
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
        // SAFETY: unretained; used only inside calls with this SSL, which only this object makes.
        SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        if let session = context.takeSession(of: host) {
            SSL_set_session(ssl, session)
            SSL_SESSION_free(session)
        }
    }

    /// Stores a session that the server issued for resumption; false leaves its reference to OpenSSL.
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
        let progress = progress(of: result, "SSL_do_handshake")
        if case .ended = progress { return .failed(.tls(.endedInHandshake)) }
        return progress
    }

    func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Progress {
        begin()
        let result = SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
        return result > 0 ? .done(Int(result)) : progress(of: result, "SSL_read")
    }

    /// Encrypts and sends at most one record.
    func write(_ base: UnsafeRawPointer, _ count: Int) -> Progress {
        assert(count >= retryLength)
        begin()
        let result = SSL_write(ssl, base, Int32(clamping: count))
        if result > 0 {
            retryLength = 0
            return .done(Int(result))
        }
        retryLength = min(count, Self.recordLengthMax)
        return progress(of: result, "SSL_write")
    }

    /// Sends `close_notify`, without waiting for the peer's, because its FIN has the same meaning.
    func shutDown() -> Progress {
        guard hasBegun else { return .done(0) }
        begin()
        let result = SSL_shutdown(ssl)
        return result >= 0 ? .done(0) : progress(of: result, "SSL_shutdown")
    }

    /// Clears earlier errors of any connection, which SSL_get_error(3) would report.
    private func begin() {
        // Clearing visits every slot of the queue, so checking first is cheaper.
        if ERR_peek_error() != 0 { ERR_clear_error() }
        errno = 0
    }

    private func progress(of result: Int32, _ call: String) -> Progress {
        let code = errno
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .ended
        case SSL_ERROR_SYSCALL:
            // Without an error it is the end, without close_notify (RFC 8446 §6.1). HTTP and WebSocket messages carry
            // their own lengths, so a truncation is noticed.
            return code == 0 ? .ended : .failed(.system(SystemError(call: call, code: code)))
        default:
            if let unpinned {
                ERR_clear_error()
                return .failed(.tls(.unpinned(keys: unpinned)))
            }
            let verifyResult = SSL_get_verify_result(ssl)
            if context.verifies && verifyResult != Int(X509_V_OK) {
                ERR_clear_error()
                return .failed(.tls(.untrusted(reason: reason(verifyResult))))
            }
            var reason = TLSError.takeReason()
            // OpenSSL's text for an answer that is not a TLS record, such as a plain HTTP response.
            if !context.isServer, reason == "wrong version number" {
                reason +=
                    ": the server answers without TLS; use http:// or ws://, or its port with TLS"
            }
            return .failed(.tls(.refused(reason: reason)))
        }
    }

    private func reason(_ verifyResult: Int) -> String {
        let reason = String(cString: X509_verify_cert_error_string(verifyResult))
        switch Int32(verifyResult) {
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "\(reason): it does not name \(serverName ?? "")"
        default: return reason
        }
    }

    // MARK: Result

    var negotiated: NegotiatedTLS {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        let agreed = UnsafeBufferPointer(start: name, count: Int(length))
        return NegotiatedTLS(
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
