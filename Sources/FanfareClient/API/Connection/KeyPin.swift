import Primitives
import Digests
import HTTPClient

/// The SHA-256 digest of a certificate's public key, for ``ClientOptions/Trust/pinned(to:)``.
///
/// The digest covers the key and its algorithm (SubjectPublicKeyInfo, RFC 7469 §2.4), so a certificate renewed with the
/// same key has the same pin. With OpenSSL: `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl
/// dgst -sha256 -binary | base64`.
public struct KeyPin: Sendable, Hashable {
    /// 32 bytes.
    let digest: [UInt8]

    init(publicKeyInfo: [UInt8]) { digest = Digest.sha256(publicKeyInfo.span) }

    /// Parses a pin.
    ///
    /// - Parameter text: The digest in base64, with an optional prefix `sha256/`.
    /// - Throws: The fault of the text.
    public init(_ text: String) throws(InvalidOption) {
        let digits = text.hasPrefix("sha256/") ? text.dropFirst(7) : text[...]
        guard let digest = Base64.decode(Array(digits.utf8).span), digest.count == 32 else {
            throw InvalidOption(
                """
                "\(text.prefix(80))" is not a pin: expected the 32 bytes of a SHA-256 digest in base64 (44 \
                characters), with an optional prefix "sha256/"
                """
            )
        }
        self.digest = digest
    }

    /// Computes the pin of a certificate's key.
    ///
    /// - Parameter certificate: The certificate in PEM or DER form; the first if there are several.
    /// - Throws: The reason it is not a certificate.
    public init(certificate: [UInt8]) throws(InvalidOption) {
        let all: [[UInt8]]
        do throws(TrustFault) {
            all = try CertificateText.read(certificate, from: "the certificate to pin")
        } catch {
            throw InvalidOption(error.description)
        }
        guard let info = CertificateText.publicKeyInfo(of: all[0]) else {
            throw InvalidOption("the certificate to pin is not an X.509 certificate")
        }
        self.init(publicKeyInfo: info)
    }
}

extension KeyPin: CustomStringConvertible {
    /// The pin, in the form of ``init(_:)``.
    public var description: String { "sha256/" + Base64.encode(digest) }
}
