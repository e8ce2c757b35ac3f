#if canImport(CryptoKit)
    import CryptoKit

    /// A digest that is being computed; a copy goes on from the same bytes.
    struct DigestState: Sendable {
        private enum Function {
            case sha1(Insecure.SHA1), md5(Insecure.MD5), sha256(SHA256)
        }
        private var function: Function

        init(_ algorithm: DigestAlgorithm) {
            function =
                switch algorithm {
                case .sha1: .sha1(Insecure.SHA1())
                case .md5: .md5(Insecure.MD5())
                case .sha256: .sha256(SHA256())
                }
        }

        /// Calls `body` with the digest of what was absorbed followed by `bytes`; the state itself stays as it is.
        func withDigest(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
            let digest = digest(of: bytes)
            body(digest.span)
        }

        private func digest(of bytes: Span<UInt8>) -> [UInt8] {
            bytes.withUnsafeBytes { raw in
                switch function {
                case .sha1(var state):
                    state.update(bufferPointer: raw)
                    return Array(state.finalize())
                case .md5(var state):
                    state.update(bufferPointer: raw)
                    return Array(state.finalize())
                case .sha256(var state):
                    state.update(bufferPointer: raw)
                    return Array(state.finalize())
                }
            }
        }

        /// Returns a state that has absorbed `bytes` too.
        func absorbing(_ bytes: Span<UInt8>) -> DigestState {
            var copy = self
            bytes.withUnsafeBytes { raw in
                switch copy.function {
                case .sha1(var state):
                    state.update(bufferPointer: raw)
                    copy.function = .sha1(state)
                case .md5(var state):
                    state.update(bufferPointer: raw)
                    copy.function = .md5(state)
                case .sha256(var state):
                    state.update(bufferPointer: raw)
                    copy.function = .sha256(state)
                }
            }
            return copy
        }
    }
#else
    import COpenSSL

    /// A digest that has absorbed some bytes and is not changed any more.
    ///
    /// `EVP_DigestInit_ex` looks its algorithm up on every call in OpenSSL 3, which costs more than the digest of a
    /// short message; copying a context that was prepared once does not.
    final class DigestState: @unchecked Sendable {
        // SAFETY: written only before `init` or `absorbing` returns; afterwards it is only copied from, which OpenSSL
        // allows from several threads at once.
        private let context: OpaquePointer
        private let length: Int

        private init(copying other: OpaquePointer, length: Int) {
            context = DigestState.copy(other)
            self.length = length
        }

        /// A state that has absorbed nothing.
        convenience init(_ algorithm: DigestAlgorithm) {
            self.init(copying: DigestState.prepared(algorithm).context, length: algorithm.length)
        }

        private init(initializing algorithm: DigestAlgorithm) {
            context = DigestState.makeContext()
            length = algorithm.length
            let function =
                switch algorithm {
                case .sha1: EVP_sha1()
                case .md5: EVP_md5()
                case .sha256: EVP_sha256()
                }
            let status = EVP_DigestInit_ex(context, function, nil)
            precondition(status == 1, "OpenSSL offers no \(algorithm): is it in FIPS mode?")
        }

        deinit { EVP_MD_CTX_free(context) }

        /// Calls `body` with the digest of what was absorbed followed by `bytes`; the state itself stays as it is.
        func withDigest(of bytes: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
            let scratch = DigestState.copy(context)
            defer { EVP_MD_CTX_free(scratch) }
            DigestState.update(scratch, bytes)
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { digest in
                let status = EVP_DigestFinal_ex(scratch, digest.baseAddress, nil)
                precondition(status == 1, "EVP_DigestFinal_ex failed")
                body(digest.span)
            }
        }

        /// Returns a state that has absorbed `bytes` too.
        func absorbing(_ bytes: Span<UInt8>) -> DigestState {
            let copy = DigestState(copying: context, length: length)
            DigestState.update(copy.context, bytes)
            return copy
        }

        private static func update(_ context: OpaquePointer, _ bytes: Span<UInt8>) {
            bytes.withUnsafeBytes { raw in
                let status = EVP_DigestUpdate(context, raw.baseAddress, raw.count)
                precondition(status == 1, "EVP_DigestUpdate failed")
            }
        }

        private static func copy(_ other: OpaquePointer) -> OpaquePointer {
            let context = makeContext()
            let status = EVP_MD_CTX_copy_ex(context, other)
            precondition(status == 1, "EVP_MD_CTX_copy_ex failed: out of memory")
            return context
        }

        private static func makeContext() -> OpaquePointer {
            guard let context = EVP_MD_CTX_new() else {
                fatalError("EVP_MD_CTX_new: out of memory")
            }
            return context
        }

        private static let sha1 = DigestState(initializing: .sha1)
        private static let md5 = DigestState(initializing: .md5)
        private static let sha256 = DigestState(initializing: .sha256)

        private static func prepared(_ algorithm: DigestAlgorithm) -> DigestState {
            switch algorithm {
            case .sha1: sha1
            case .md5: md5
            case .sha256: sha256
            }
        }
    }
#endif

extension DigestState {
    /// Returns the digest of what was absorbed followed by `bytes`, as an array.
    func digest(ofAll bytes: Span<UInt8>) -> [UInt8] {
        var array: [UInt8] = []
        withDigest(of: bytes) { digest in
            digest.withUnsafeBufferPointer { array.append(contentsOf: $0) }
        }
        return array
    }
}
