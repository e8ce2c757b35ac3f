import COpenSSL
import Synchronization

/// What all TLS streams of a listener, or of a client, have in common.
///
/// TLS 1.2 and 1.3 with forward secrecy and authenticated encryption only (RFC 9325); ALPN
/// `http/1.1`; sessions are resumed by tickets, also on another loop; no renegotiation.
public final class TLSContext: Sendable {
    /// One `SSL_CTX` a certificate; a client has one.
    private let credentials: [TLSCredential]
    let isServer: Bool
    let verifies: Bool
    private let sessions = Mutex(SessionStore())

    private init(_ credentials: [TLSCredential], isServer: Bool, verifies: Bool) {
        self.credentials = credentials
        self.isServer = isServer
        self.verifies = verifies
    }

    /// A server's side.
    ///
    /// A client that names a host (SNI, RFC 6066 §3) gets the certificate that names it, exactly or
    /// by a wildcard; any other gets the first.
    ///
    /// - Parameter certificates: At least one.
    /// - Returns: The context, for any number of listeners on any loops.
    /// - Throws: Which certificate or key is wrong, and why.
    public static func server(_ certificates: [TLSCertificate]) throws(TLSError) -> TLSContext {
        guard !certificates.isEmpty else { throw .noCertificates }
        var credentials: [TLSCredential] = []
        for certificate in certificates {
            let credential = try TLSCredential(TLS_server_method())
            try credential.use(certificate)
            try credential.beServer()
            credentials.append(credential)
        }
        let context = TLSContext(credentials, isServer: true, verifies: false)
        if credentials.count > 1 { context.chooseByServerName() }
        return context
    }

    /// A server's side, with certificates from files.
    ///
    /// - Parameter files: At least one pair; read now, blocking.
    /// - Returns: The context, for any number of listeners on any loops.
    /// - Throws: Which file is wrong, and why.
    public static func server(_ files: [CertificateFiles]) throws(TLSError) -> TLSContext {
        var certificates: [TLSCertificate] = []
        for pair in files { certificates.append(try TLSCertificate(reading: pair)) }
        return try server(certificates)
    }

    /// A client's side.
    ///
    /// - Parameters:
    ///   - trust: Which servers it believes.
    ///   - pins: SHA-256 digests of public keys (SubjectPublicKeyInfo), of which a certificate on the way from the
    ///     server's to the trusted one has to have one, and the server's own if any is trusted; if empty, any will do.
    /// - Returns: The context, for any number of connections; it remembers a session for each host.
    /// - Throws: Why the trusted certificates cannot be used.
    public static func client(
        trust: TLSTrust = .system,
        pins: Set<[UInt8]> = []
    ) throws(TLSError) -> TLSContext {
        let credential = try TLSCredential(TLS_client_method())
        try credential.beClient(trust, pins: pins)
        return TLSContext([credential], isServer: false, verifies: trust != .insecure)
    }

    /// The least and the highest version to speak, for tests of either.
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
        // SAFETY: unretained, yet alive: each session holds the context that its SSL was made of.
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
        // A certificate for the very name goes before a wildcard, whatever their order.
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

    // MARK: A client's sessions

    /// The newest session of each server.
    private struct SessionStore: ~Copyable {
        static var countMax: Int { 64 }
        var sessions: [String: UInt] = [:]

        deinit {
            for session in sessions.values { SSL_SESSION_free(OpaquePointer(bitPattern: session)) }
        }
    }

    /// Keeps a session, whose reference it takes over, in place of an older one.
    func keep(_ session: OpaquePointer, of server: String) {
        let dropped = sessions.withLock { store -> UInt? in
            let old = store.sessions.updateValue(UInt(bitPattern: session), forKey: server)
            guard old == nil, store.sessions.count > SessionStore.countMax else { return old }
            guard let other = store.sessions.keys.first(where: { $0 != server }) else { return nil }
            return store.sessions.removeValue(forKey: other)
        }
        if let dropped { SSL_SESSION_free(OpaquePointer(bitPattern: dropped)) }
    }

    /// Takes the session kept for a server; the caller frees it.
    ///
    /// A ticket of TLS 1.3 is used once, since an observer could tell two uses for one client's
    /// (RFC 8446 §C.4); a session of TLS 1.2 is kept, because its server gives no new one.
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
