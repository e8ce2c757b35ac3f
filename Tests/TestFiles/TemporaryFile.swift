import Foundation
import Net

/// A file that is deleted after the test.
package final class TemporaryFile {
    /// The path.
    package let path: String

    /// Writes a file with this content.
    package init(bytes: [UInt8]) throws {
        path = NSTemporaryDirectory() + "fanfare-\(UUID().uuidString)"
        try Data(bytes).write(to: URL(filePath: path))
    }

    /// Writes a file with this text.
    package convenience init(_ text: String) throws { try self.init(bytes: Array(text.utf8)) }

    deinit { unlink(path) }
}

/// A development certificate and its key, in files that are deleted after the test.
package struct TemporaryCertificate {
    /// The certificate in PEM.
    package let certificate: TemporaryFile
    /// Its private key in PEM.
    package let key: TemporaryFile

    /// Makes a certificate for `localhost`.
    package init() throws {
        let made = try DevelopmentCertificate.make(hosts: ["localhost"])
        certificate = try TemporaryFile(bytes: made.certificatePEM)
        key = try TemporaryFile(bytes: made.keyPEM)
    }

    /// The item of `tls.certificates`.
    package var yaml: String { "{certificate: \(certificate.path), key: \(key.path)}" }
}
