import Primitives

#if canImport(Security)
    import Digests
    import Foundation
    package import Security

    // Verification of a server's certificate by Security.framework.
    extension Verification {
        /// Whether the system's default verification is insufficient.
        package var isOwn: Bool { roots != .system || !pins.isEmpty }

        /// Verifies a server by its certificate, with the policy for its name; returns the reason why it is not
        /// trusted, or `nil`.
        package func distrust(of trust: SecTrust) -> String? {
            switch roots {
            case .system: break
            case .insecure:
                // Only the server's own certificate, the first, counts, because nothing verifies the others here.
                return unpinned(Array(Self.certificates(of: trust).prefix(1)))
            case .certificates(let der):
                var anchors: [SecCertificate] = []
                for (index, certificate) in der.enumerated() {
                    guard
                        let anchor = SecCertificateCreateWithData(nil, Data(certificate) as CFData)
                    else {
                        return "certificate \(index + 1) to trust is not an X.509 certificate"
                    }
                    anchors.append(anchor)
                }
                guard SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
                    SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
                else { return "the certificates to trust cannot be set" }
            }
            var error: CFError?
            guard SecTrustEvaluateWithError(trust, &error) else {
                return error.map { CFErrorCopyDescription($0) as String } ?? "no reason is given"
            }
            return unpinned(Self.certificates(of: trust))
        }

        /// The certificates in DER form, the server's own first.
        private static func certificates(of trust: SecTrust) -> [[UInt8]] {
            let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []
            return chain.map { Array(SecCertificateCopyData($0) as Data) }
        }

        private func unpinned(_ certificates: [[UInt8]]) -> String? {
            guard !pins.isEmpty else { return nil }
            let keys = certificates.compactMap(CertificateText.publicKeyInfo).map {
                Digest.sha256($0.span)
            }
            guard pins.isDisjoint(with: keys) else { return nil }
            return Self.fault(unpinned: keys)
        }
    }
#endif
