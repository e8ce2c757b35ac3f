import COpenSSL

/// Pinned public keys, by SHA-256 digest; a server must have one of them.
///
/// They are checked while the certificate is verified. A server without a pinned key gets an alert, and no session is
/// stored that could be resumed later.
final class TLSPins: Sendable {
    private let digests: Set<[UInt8]>
    /// Whether the chain has to be valid too, and any of its keys counts; if not, only the server's own key counts.
    private let isOfChain: Bool

    init(_ digests: Set<[UInt8]>, ofChain isOfChain: Bool) {
        self.digests = digests
        self.isOfChain = isOfChain
    }

    /// Replaces OpenSSL's verification by the pins', which calls it.
    func apply(to context: OpaquePointer) {
        // SAFETY: unretained, but alive: the credential that owns the SSL_CTX retains the pins, and each session
        // retains the credential's context.
        SSL_CTX_set_cert_verify_callback(
            context,
            { store, argument in
                guard let store, let argument else { return 0 }
                let pins = Unmanaged<TLSPins>.fromOpaque(argument).takeUnretainedValue()
                return pins.verify(store) ? 1 : 0
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    private func verify(_ store: OpaquePointer) -> Bool {
        if isOfChain { guard X509_verify_cert(store) == 1 else { return false } }
        let keys = keys(in: store)
        guard digests.isDisjoint(with: keys) else { return true }
        X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
        if let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
            let context = SSL_get_ex_data(OpaquePointer(ssl), 0)
        {
            // SAFETY: set by the TLSSession that owns the SSL, and this runs inside one of its calls.
            Unmanaged<TLSSession>.fromOpaque(context).takeUnretainedValue().unpinned = keys
        }
        return false
    }

    /// Returns the digests of the keys that count, the server's own first.
    private func keys(in store: OpaquePointer) -> [[UInt8]] {
        guard isOfChain else {
            return X509_STORE_CTX_get0_cert(store).map { [Self.digest(of: $0)] } ?? []
        }
        let chain = X509_STORE_CTX_get0_chain(store)
        return (0..<max(OPENSSL_sk_num(chain), 0)).compactMap { index in
            OPENSSL_sk_value(chain, index).map { Self.digest(of: OpaquePointer($0)) }
        }
    }

    /// Returns the SHA-256 digest of a certificate's SubjectPublicKeyInfo (RFC 7469 §2.4).
    private static func digest(of certificate: OpaquePointer) -> [UInt8] {
        let key = X509_get_X509_PUBKEY(certificate)
        var info = [UInt8](repeating: 0, count: Int(max(i2d_X509_PUBKEY(key, nil), 0)))
        info.withUnsafeMutableBufferPointer { buffer in
            var position = buffer.baseAddress
            _ = i2d_X509_PUBKEY(key, &position)
        }
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        shim_SHA256(info, info.count, &digest)
        return digest
    }
}
