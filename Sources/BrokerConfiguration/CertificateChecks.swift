internal import Net

extension CertificateFiles {
    /// Adds the faults of the files, by key within the certificate.
    func check(_ faults: inout FaultCollector) {
        guard !certificate.isEmpty, !key.isEmpty else { return }
        var areReadable = true
        for (name, path) in [("certificate", certificate), ("key", key)] {
            do {
                _ = try FileBytes.read(path)
            } catch {
                faults.add(name, "cannot be read: \(path): \(error.reason)")
                areReadable = false
            }
        }
        guard areReadable else { return }
        do {
            // The same check as at start, so that a start does not fail on them.
            _ = try TLSContext.server([self])
        } catch .noKey(let reason) {
            faults.add("key", "must be a private key in PEM without a passphrase: \(reason)")
        } catch .keyMismatch {
            faults.add("key", "is not the key of \(certificate): name the one it was made with")
        } catch .noCertificate(let reason) {
            faults.add("certificate", "must be a certificate in PEM: \(reason)")
        } catch {
            faults.add("certificate", "cannot be used: \(error)")
        }
    }
}

/// What is shown and warned of about a certificate of the TLS listener.
struct ServedCertificate {
    /// The time before the end from which on it is warned of, in days.
    private static let daysMin = 14

    private let path: String
    private let certificate: CertificateDescription

    /// Reads a certificate; `nil` if that fails, which is a fault.
    init?(_ files: CertificateFiles) {
        path = files.certificate
        guard let pem = try? FileBytes.read(path),
            let certificate = try? CertificateDescription(pem: pem)
        else { return nil }
        self.certificate = certificate
    }

    private var days: Int { certificate.secondsUntilEnd / 86_400 }

    /// Its end, if that has passed: a broker starts with it, and clients refuse it.
    var expiry: String? {
        certificate.secondsUntilEnd < 0
            ? "has expired \(Self.text(days: -days)) ago: renew it" : nil
    }

    /// What is probably not meant, if it has not expired: it will soon, or is not valid yet.
    var warning: String? {
        if certificate.secondsUntilStart > 0 {
            return "is not valid yet: compare the clock of this machine"
        }
        guard certificate.secondsUntilEnd >= 0, days < Self.daysMin else { return nil }
        return "expires in \(Self.text(days: days)): renew it"
    }

    /// Its file, its names, and the days that are left.
    var summary: String {
        let names =
            certificate.names.isEmpty ? "no name" : certificate.names.joined(separator: ", ")
        return "\(path) for \(names), "
            + (expiry == nil ? Self.text(days: days) + " left" : "expired")
    }

    private static func text(days: Int) -> String { days == 1 ? "1 day" : "\(days) days" }
}
