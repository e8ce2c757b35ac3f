internal import Net

extension Configuration {
    /// The time before the end of a certificate from which on it is warned of, in days.
    private static let certificateDaysMin = 14

    /// The certificates that have expired, each with its key; a broker starts with them, and clients refuse them.
    ///
    /// - Returns: The faults; empty if all certificates are valid.
    public func expiredCertificates() -> [ConfigurationFault] {
        servedCertificates().compactMap { key, _, certificate in
            guard certificate.secondsUntilEnd < 0 else { return nil }
            let days = -certificate.secondsUntilEnd / 86_400
            return ConfigurationFault(
                key: key,
                problem: "has expired \(Self.text(days: days)) ago: renew it"
            )
        }
    }

    /// What is probably not meant about the certificates: those that have expired, will soon, or are not valid yet.
    func certificateWarnings() -> [ConfigurationFault] {
        expiredCertificates()
            + servedCertificates().compactMap { key, _, certificate in
                let days = certificate.secondsUntilEnd / 86_400
                if certificate.secondsUntilStart > 0 {
                    let problem = "is not valid yet: compare the clock of this machine"
                    return ConfigurationFault(key: key, problem: problem)
                }
                guard certificate.secondsUntilEnd >= 0, days < Self.certificateDaysMin else {
                    return nil
                }
                let problem = "expires in \(Self.text(days: days)): renew it"
                return ConfigurationFault(key: key, problem: problem)
            }
    }

    /// A line for each certificate: its file, its names, and the days that are left.
    ///
    /// - Returns: The lines, in the order of `tls.certificates`.
    public func certificateDescriptions() -> [String] {
        servedCertificates().map { _, path, certificate in
            let names = certificate.names
            let end =
                certificate.secondsUntilEnd < 0
                ? "expired" : Self.text(days: certificate.secondsUntilEnd / 86_400) + " left"
            return
                "\(path) for \(names.isEmpty ? "no name" : names.joined(separator: ", ")), \(end)"
        }
    }

    /// The certificates that can be read; others are faults.
    private func servedCertificates() -> [(key: String, path: String, CertificateDescription)] {
        certificates.enumerated().compactMap { index, files in
            guard let pem = try? FileBytes.read(files.certificate),
                let certificate = try? CertificateDescription(pem: pem)
            else { return nil }
            return ("tls.certificates.\(index).certificate", files.certificate, certificate)
        }
    }

    private static func text(days: Int) -> String { days == 1 ? "1 day" : "\(days) days" }
}
