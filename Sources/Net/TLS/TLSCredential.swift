import COpenSSL

/// An `SSL_CTX`: one certificate, or a client's trust, with Fanfare's fixed TLS settings.
///
/// SAFETY: `@unchecked Sendable`, because OpenSSL counts references to an `SSL_CTX` and locks it itself once it is set
/// up (SSL_CTX_new(3)). It is set up before it is shared.
final class TLSCredential: @unchecked Sendable {
    let raw: OpaquePointer
    /// The pinned keys; retained here, because OpenSSL has an unretained pointer to them.
    private var pins: TLSPins?

    init(_ method: OpaquePointer?) throws(TLSError) {
        ERR_clear_error()
        raw = try TLSError.check(SSL_CTX_new(method), "SSL_CTX_new")
        guard shim_SSL_CTX_set_proto_versions(raw, TLS1_2_VERSION, TLS1_3_VERSION) == 1 else {
            throw .library(call: "SSL_CTX_set_min_proto_version", reason: TLSError.takeReason())
        }
        // An idle connection keeps no buffers. A refused write may be retried from another address. A write returns
        // after each record, so that its progress is known.
        _ = shim_SSL_CTX_set_mode(
            raw,
            Int(SSL_MODE_RELEASE_BUFFERS) | Int(SSL_MODE_ENABLE_PARTIAL_WRITE)
                | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER)
        )
        // One recv for a whole record instead of one for its header and one for the rest.
        shim_SSL_CTX_set_read_ahead(raw, 1)
        SSL_CTX_set_options(raw, shim_SSL_OP_NO_RENEGOTIATION | shim_SSL_OP_NO_COMPRESSION)
        // RFC 9325 §4.2: TLS 1.2 with forward secrecy and AEAD only. TLS 1.3 has nothing else.
        // AES-128 comes first: every peer has it (RFC 8446 §9.1), and it costs less, as does its SHA-256.
        let ciphers = "ECDHE+AES128+AESGCM:ECDHE+AESGCM:ECDHE+CHACHA20"
        try TLSError.check(SSL_CTX_set_cipher_list(raw, ciphers), "SSL_CTX_set_cipher_list")
        let suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
        try TLSError.check(SSL_CTX_set_ciphersuites(raw, suites), "SSL_CTX_set_ciphersuites")
        SSL_CTX_set_default_passwd_cb(raw, refusePassphrase)
    }

    deinit { SSL_CTX_free(raw) }

    /// Sets the certificate, its chain and its key.
    func use(_ certificate: TLSCertificate) throws(TLSError) {
        let chain = try CertificateChain(pem: certificate.certificatePEM)
        for (index, link) in chain.certificates.enumerated() {
            let result =
                index == 0
                ? SSL_CTX_use_certificate(raw, link) : shim_SSL_CTX_add1_chain_cert(raw, link)
            guard result == 1 else { throw .noCertificate(reason: TLSError.takeReason()) }
        }
        let pem = certificate.keyPEM
        let bio = try TLSError.check(BIO_new_mem_buf(pem, Int32(pem.count)), "BIO_new_mem_buf")
        defer { BIO_free(bio) }
        guard let key = PEM_read_bio_PrivateKey(bio, nil, refusePassphrase, nil) else {
            throw .noKey(reason: TLSError.takeReason())
        }
        defer { EVP_PKEY_free(key) }
        guard SSL_CTX_use_PrivateKey(raw, key) == 1, SSL_CTX_check_private_key(raw) == 1 else {
            throw .keyMismatch(reason: TLSError.takeReason())
        }
    }

    /// Configures a server.
    ///
    /// Sessions are resumed by tickets only, so that they resume on every loop and take no memory.
    func configureServer() throws(TLSError) {
        SSL_CTX_set_options(
            raw,
            shim_SSL_OP_CIPHER_SERVER_PREFERENCE | shim_SSL_OP_PRIORITIZE_CHACHA
        )
        _ = shim_SSL_CTX_set_session_cache_mode(
            raw,
            Int(SSL_SESS_CACHE_SERVER) | Int(SSL_SESS_CACHE_NO_INTERNAL)
        )
        let name = Array("fanfare".utf8)
        try TLSError.check(
            SSL_CTX_set_session_id_context(raw, name, UInt32(name.count)),
            "SSL_CTX_set_session_id_context"
        )
        try TLSError.check(SSL_CTX_set_num_tickets(raw, 1), "SSL_CTX_set_num_tickets")
        SSL_CTX_set_alpn_select_cb(
            raw,
            { _, chosen, chosenLength, offered, offeredLength, _ in
                // No common protocol is not an error: the server answers such clients with HTTP/1.1.
                selectProtocol(chosen, chosenLength, offered, offeredLength)
                    ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK
            },
            nil
        )
    }

    /// Configures a client, which verifies servers, offers HTTP/1.1, and stores sessions in its context.
    func configureClient(_ trust: TLSTrust, pins: Set<[UInt8]>) throws(TLSError) {
        switch trust {
        case .system:
            try trustSystem()
        case .systemAnd(let der):
            try trustSystem()
            try self.trust(CertificateChain(der: der))
        case .file(let path):
            let pem = try TLSCertificate(reading: .init(certificate: path, key: path))
            try self.trust(CertificateChain(pem: pem.certificatePEM))
        case .pem(let pem):
            try self.trust(CertificateChain(pem: pem))
        case .certificates(let der):
            try self.trust(CertificateChain(der: der))
        case .insecure:
            break
        }
        let verifies = trust != .insecure || !pins.isEmpty
        SSL_CTX_set_verify(raw, verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nil)
        if !pins.isEmpty {
            let pins = TLSPins(pins, ofChain: trust != .insecure)
            pins.apply(to: raw)
            self.pins = pins
        }
        // Unlike the other calls this one returns 0 for success.
        guard SSL_CTX_set_alpn_protos(raw, http11, UInt32(http11.count)) == 0 else {
            throw .library(call: "SSL_CTX_set_alpn_protos", reason: TLSError.takeReason())
        }
        _ = shim_SSL_CTX_set_session_cache_mode(
            raw,
            Int(SSL_SESS_CACHE_CLIENT) | Int(SSL_SESS_CACHE_NO_INTERNAL)
        )
        SSL_CTX_sess_set_new_cb(raw) { ssl, session in
            guard let ssl, let session, let context = SSL_get_ex_data(ssl, 0) else { return 0 }
            // SAFETY: set by the TLSSession that owns the SSL, and this runs inside one of its calls.
            let tls = Unmanaged<TLSSession>.fromOpaque(context).takeUnretainedValue()
            return tls.keep(session) ? 1 : 0
        }
    }

    private func trustSystem() throws(TLSError) {
        try TLSError.check(
            SSL_CTX_set_default_verify_paths(raw),
            "SSL_CTX_set_default_verify_paths"
        )
    }

    private func trust(_ chain: borrowing CertificateChain) throws(TLSError) {
        let store = SSL_CTX_get_cert_store(raw)
        for certificate in chain.certificates {
            try TLSError.check(X509_STORE_add_cert(store, certificate), "X509_STORE_add_cert")
        }
    }
}

/// The only ALPN protocol (RFC 7301 §3.1): its length, then its bytes.
private let http11: [UInt8] = [8] + Array("http/1.1".utf8)

/// Selects `http/1.1` among a client's offers; the result points into them, as OpenSSL requires.
private func selectProtocol(
    _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenLength: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?,
    _ offeredLength: UInt32
) -> Bool {
    guard let chosen, let chosenLength else { return false }
    let offers = UnsafeBufferPointer(start: offered, count: Int(offeredLength))
    var index = 0
    while index < offers.count {
        let end = index + 1 + Int(offers[index])
        guard end <= offers.count else { return false }
        if offers[index..<end].elementsEqual(http11) {
            chosen.pointee = offered.map { $0 + index + 1 }
            chosenLength.pointee = offers[index]
            return true
        }
        index = end
    }
    return false
}
