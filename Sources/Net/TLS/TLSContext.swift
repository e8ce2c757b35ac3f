import COpenSSL
import Synchronization

/// The TLS configuration shared by all streams of a listener, or of a client.
///
/// TLS 1.2 and 1.3 with forward secrecy and authenticated encryption only (RFC 9325), and ALPN `http/1.1`. Sessions are
/// resumed by tickets, also on another loop. There is no renegotiation.
public final class TLSContext: Sendable {
    /// One `SSL_CTX` per certificate; a client has one.
    private let credentials: [TLSCredential]
    let isServer: Bool
    let verifies: Bool
    private let sessions = Mutex(SessionStore())

    private init(_ credentials: [TLSCredential], isServer: Bool, verifies: Bool) {
        self.credentials = credentials
        self.isServer = isServer
        self.verifies = verifies
    }

    /// Makes a server context.
    ///
    /// A client that names a host (SNI, RFC 6066 §3) gets the certificate that matches it exactly or by a wildcard. Any
    /// other client gets the first.
    ///
    /// - Parameter certificates: At least one.
    /// - Returns: The context, for any number of listeners on any loops.
    /// - Throws: The first invalid certificate or key, and the reason.
    public static func server(_ certificates: [TLSCertificate]) throws(TLSError) -> TLSContext {
        guard !certificates.isEmpty else { throw .noCertificates }
        var credentials: [TLSCredential] = []
        for certificate in certificates {
            let credential = try TLSCredential(TLS_server_method())
            try credential.use(certificate)
            try credential.configureServer()
            credentials.append(credential)
        }
        let context = TLSContext(credentials, isServer: true, verifies: false)
        if credentials.count > 1 { context.chooseByServerName() }
        return context
    }

    /// Makes a server context with certificates from files.
    ///
    /// - Parameter files: At least one pair; read now, blocking.
    /// - Returns: The context, for any number of listeners on any loops.
    /// - Throws: The first invalid file, and the reason.
    public static func server(_ files: [CertificateFiles]) throws(TLSError) -> TLSContext {
        var certificates: [TLSCertificate] = []
        for pair in files { certificates.append(try TLSCertificate(reading: pair)) }
        return try server(certificates)
    }

    /// Makes a client context.
    ///
    /// - Parameters:
    ///   - trust: The accepted certificates.
    ///   - pins: SHA-256 digests of public keys (SubjectPublicKeyInfo). A certificate of the verified chain must have
    ///     one of them; with `insecure` trust, the server's own certificate. Empty for no pinning.
    /// - Returns: The context, for any number of connections; it caches a session for each host.
    /// - Throws: The reason why the trusted certificates cannot be used.
    public static func client(
        trust: TLSTrust = .system,
        pins: Set<[UInt8]> = []
    ) throws(TLSError) -> TLSContext {
        let credential = try TLSCredential(TLS_client_method())
        try credential.configureClient(trust, pins: pins)
        return TLSContext([credential], isServer: false, verifies: trust != .insecure)
    }

    /// Sets the lowest and highest TLS version, for tests.
    func limitVersions(_ versions: ClosedRange<Int32>) {
        for credential in credentials {
            _ = shim_SSL_CTX_set_proto_versions(
                credential.raw,
                versions.lowerBound,
                versions.upperBound
            )
        }
    }

    /// Makes an `SSL` for one connection.
    func makeSSL() throws(TLSError) -> OpaquePointer {
        ERR_clear_error()
        return try TLSError.check(SSL_new(credentials[0].raw), "SSL_new")
    }

    // MARK: Server names

    private func chooseByServerName() {
        // SAFETY: unretained, but alive, because each session retains the context that its SSL was made of.
        shim_SSL_CTX_set_servername(
            credentials[0].raw,
            { ssl, _, context in
                guard let ssl, let context,
                    let name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)
                else { return SSL_TLSEXT_ERR_OK }
                let tls = Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue()
                if let credential = tls.credential(for: name) {
                    _ = SSL_set_SSL_CTX(ssl, credential.raw)
                }
                return SSL_TLSEXT_ERR_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    private func credential(for name: UnsafePointer<CChar>) -> TLSCredential? {
        // An exact match takes precedence over a wildcard, whatever their order.
        for flags in [X509_CHECK_FLAG_NO_WILDCARDS, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS] {
            for credential in credentials {
                let certificate = SSL_CTX_get0_certificate(credential.raw)
                if X509_check_host(certificate, name, 0, UInt32(flags), nil) == 1 {
                    return credential
                }
            }
        }
        return nil
    }

    // MARK: Client sessions

    /// The newest session of each server.
    private struct SessionStore: ~Copyable {
        static var countMax: Int { 64 }
        var sessions: [String: UInt] = [:]

        deinit {
            for session in sessions.values { SSL_SESSION_free(OpaquePointer(bitPattern: session)) }
        }
    }

    /// Stores a session for a server, replacing an older one; takes over its reference.
    func keep(_ session: OpaquePointer, of server: String) {
        let dropped = sessions.withLock { store -> UInt? in
            let old = store.sessions.updateValue(UInt(bitPattern: session), forKey: server)
            guard old == nil, store.sessions.count > SessionStore.countMax else { return old }
            guard let other = store.sessions.keys.first(where: { $0 != server }) else { return nil }
            return store.sessions.removeValue(forKey: other)
        }
        if let dropped { SSL_SESSION_free(OpaquePointer(bitPattern: dropped)) }
    }

    /// Returns the session stored for a server; the caller frees it.
    ///
    /// A TLS 1.3 ticket is used once, because an observer could link two uses to one client
    /// (RFC 8446 §C.4). A TLS 1.2 session stays stored, because the server does not issue a new one.
    func takeSession(of server: String) -> OpaquePointer? {
        sessions.withLock { store -> UInt? in
            guard let kept = store.sessions[server] else { return nil }
            let session = OpaquePointer(bitPattern: kept)
            if SSL_SESSION_get_protocol_version(session) == TLS1_2_VERSION {
                SSL_SESSION_up_ref(session)
            } else {
                store.sessions[server] = nil
            }
            return kept
        }.flatMap { OpaquePointer(bitPattern: $0) }
    }
}
