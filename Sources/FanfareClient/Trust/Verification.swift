import Foundation

/// What a ``ClientOptions/Trust`` comes to, once its files are read.
struct Verification: Sendable, Hashable {
    /// Who may sign.
    enum Roots: Sendable, Hashable {
        case system, insecure
        /// In DER form.
        case certificates([[UInt8]])
    }

    let roots: Roots
    /// Keys of which one has to be there; any will do if there are none.
    let pins: Set<KeyPin>

    /// Reads what is trusted; blocks for as long as a disk takes.
    ///
    /// - Parameter trust: The option.
    /// - Throws: What is wrong with the file or the text.
    init(reading trust: ClientOptions.Trust) throws(InvalidOption) {
        pins = trust.pins
        switch trust.roots {
        case .system: roots = .system
        case .insecure: roots = .insecure
        case .pem(let text):
            roots = .certificates(try CertificateText.read(text, from: "the PEM text to trust"))
        case .file(let path):
            roots = .certificates(try CertificateText.read(Self.contents(of: path), from: path))
        case .der(let certificates):
            guard !certificates.isEmpty else {
                throw InvalidOption("the list of certificates to trust is empty: give at least one")
            }
            for (index, certificate) in certificates.enumerated() {
                guard CertificateText.publicKeyInfo(of: certificate) != nil else {
                    throw InvalidOption(
                        "number \(index + 1) of the certificates to trust is none in DER form; for PEM there is pem(_:)"
                    )
                }
            }
            roots = .certificates(certificates)
        }
    }

    private static func contents(of path: String) throws(InvalidOption) -> [UInt8] {
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? file.close() }
            // One byte more than is accepted tells that there are too many.
            return Array(try file.read(upToCount: CertificateText.lengthMax + 1) ?? Data())
        } catch {
            throw InvalidOption(
                "the file of trusted certificates \(path) cannot be read: \(error.localizedDescription)"
            )
        }
    }
}
