import Digests
import HTTPClient

/// The public key of a certificate, by its SHA-256 digest, for ``ClientOptions/Trust/pinned(to:)``.
///
/// What is digested is the key with its algorithm (SubjectPublicKeyInfo, as in RFC 7469 §2.4), so a
/// certificate that is renewed with the same key has the same pin. OpenSSL computes it by
/// `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`.
public struct KeyPin: Sendable, Hashable {
    /// 32 bytes.
    let digest: [UInt8]

    init(publicKeyInfo: [UInt8]) { digest = Digest.sha256(publicKeyInfo.span) }

    /// Reads a pin.
    ///
    /// - Parameter text: The digest in base64, with or without `sha256/` in front of it.
    /// - Throws: What is wrong with the text.
    public init(_ text: String) throws(InvalidOption) {
        let digits = text.hasPrefix("sha256/") ? text.dropFirst(7) : text[...]
        guard let digest = Base64.decode(Array(digits.utf8).span), digest.count == 32 else {
            throw InvalidOption(
                """
                "\(text.prefix(80))" is no pin: it takes the 32 bytes of a SHA-256 digest in base64, 44 \
                characters, with or without "sha256/" in front of them
                """
            )
        }
        self.digest = digest
    }

    /// The pin of a certificate's key.
    ///
    /// - Parameter certificate: In PEM or DER form; of several the first counts.
    /// - Throws: Why that is no certificate.
    public init(certificate: [UInt8]) throws(InvalidOption) {
        let all: [[UInt8]]
        do throws(TrustFault) {
            all = try CertificateText.read(certificate, from: "the certificate to pin")
        } catch {
            throw InvalidOption(error.description)
        }
        guard let info = CertificateText.publicKeyInfo(of: all[0]) else {
            throw InvalidOption("the certificate to pin is no X.509 certificate")
        }
        self.init(publicKeyInfo: info)
    }
}

extension KeyPin: CustomStringConvertible {
    /// The pin as ``init(_:)`` reads it.
    public var description: String { "sha256/" + Base64.encode(digest) }
}
