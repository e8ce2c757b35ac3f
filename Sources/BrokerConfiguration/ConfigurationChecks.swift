internal import Glibc
internal import Net

extension Configuration {
    /// Validates the configuration; the only place that decides whether a broker may run with it.
    ///
    /// Reads files (certificates must be readable), but does not use the network.
    ///
    /// - Returns: All faults, with their keys; empty for a valid configuration.
    public func faults() -> [ConfigurationFault] {
        let apps = AppChecks(configuration: self)
        var faults = FaultCollector(bounds: ConfigurationKeys.all.flatMap { $0.validate(self, "") })
        checkHosts(&faults)
        checkListeners(&faults)
        faults.check(certificates, of: "tls.certificates") { $1.check(&$2) }
        apps.check(&faults)
        checkTrust(&faults)
        apps.checkLengths(&faults)
        checkShutdown(&faults)
        checkFiles(&faults)
        cluster.check(in: self, &faults)
        console.check(in: self, &faults)
        return faults.found
    }

    /// Validates the configuration, see ``faults()``.
    ///
    /// - Throws: All faults.
    public func validate() throws(ConfigurationError) {
        let faults = faults()
        guard faults.isEmpty else { throw ConfigurationError(faults) }
    }

    /// What a broker runs with, and is probably not meant: each with its key and what to do.
    ///
    /// Asks the file system for the folders of the broker's files.
    ///
    /// - Returns: The warnings.
    public func warnings() -> [ConfigurationFault] {
        var warnings = FaultCollector()
        AppChecks(configuration: self).warn(&warnings)
        console.warn(in: self, &warnings)
        warnFolders(&warnings)
        return warnings.found + expiredCertificates() + certificateFaults(\.warning)
    }

    /// The `FANFARE_…` variables that stand for no key, and are ignored.
    ///
    /// - Parameter environment: The variables of the process.
    /// - Returns: A warning for each, with the nearest variables.
    public static func warnings(of environment: [String: String]) -> [ConfigurationFault] {
        EnvironmentSettings.unknown(in: environment)
    }

    /// The certificates that have expired, each with its key; a broker starts with them, and clients refuse them.
    ///
    /// - Returns: The faults; empty if all certificates are valid.
    public func expiredCertificates() -> [ConfigurationFault] { certificateFaults(\.expiry) }

    /// A line for each certificate: its file, its names, and the days that are left.
    ///
    /// - Returns: The lines, in the order of `tls.certificates`.
    public func certificateDescriptions() -> [String] {
        certificates.compactMap { ServedCertificate($0)?.summary }
    }

    private func certificateFaults(
        _ problem: (ServedCertificate) -> String?
    ) -> [ConfigurationFault] {
        var faults = FaultCollector()
        faults.check(certificates, of: "tls.certificates") { _, files, faults in
            guard let problem = ServedCertificate(files).flatMap(problem) else { return }
            faults.add("certificate", problem)
        }
        return faults.found
    }

    /// Checks lists of hosts: no port can be listened on twice at an address.
    private func checkHosts(_ faults: inout FaultCollector) {
        for (key, hosts) in [
            ("listen.host", hosts), ("metrics.host", metrics.hosts),
            ("console.host", console.hosts),
        ] where faults.isInBounds(key) {
            if let problem = Self.overlap(of: hosts) { faults.add(key, problem) }
        }
    }

    private static func overlap(of hosts: [String]) -> String? {
        if hosts.isEmpty { return "is an empty list: name an address" }
        for (index, host) in hosts.enumerated() {
            if hosts[..<index].contains(host) { return "has \(host) twice: leave one out" }
            // "::" is for IPv4 as well.
            let others = hosts.filter { $0 != host && (host == "::" || !$0.contains(":")) }
            guard ["0.0.0.0", "::"].contains(host), let other = others.first else { continue }
            return "has \(host), which is every network, and \(other): leave one out"
        }
        return nil
    }

    private func checkListeners(_ faults: inout FaultCollector) {
        if port == nil, tlsPort == nil, unixSocket == nil {
            faults.add(
                "listen.port",
                "is none, and so are tls.port and listen.unix_socket: set one"
            )
        }
        if let port, port != 0, port == tlsPort {
            faults.add(
                "tls.port",
                "is \(port), as listen.port is: choose another, for each is a listener"
            )
        }
        if let metricsPort = metrics.port, metricsPort != 0 {
            for (key, other) in [("listen.port", port), ("tls.port", tlsPort)]
            where other == metricsPort {
                faults.add("metrics.port", "is \(metricsPort), as \(key) is: choose one of its own")
            }
        }
        if tlsPort != nil, certificates.isEmpty {
            faults.add(
                "tls.port",
                "needs a certificate: name its files in tls.certificates, or with "
                    + "--tls-certificate and --tls-key (\"fanfare keys certificate\" makes one for development)"
            )
        }
        if tlsPort == nil, !certificates.isEmpty {
            faults.add("tls.certificates", "are of no use without tls.port: set it, as to 6002")
        }
    }

    /// Checks the certificates that webhooks trust.
    private func checkTrust(_ faults: inout FaultCollector) {
        guard let path = webhooks.trust, !path.isEmpty else { return }
        do {
            _ = try FileBytes.read(path)
        } catch {
            faults.add("webhooks.trust", "cannot be read: \(path): \(error.reason)")
            return
        }
        do {
            _ = try TLSContext.client(trust: .file(path))
        } catch {
            faults.add("webhooks.trust", "must be certificates in PEM: \(error)")
        }
    }

    private func checkShutdown(_ faults: inout FaultCollector) {
        let key = "shutdown.notice"
        guard shutdown.notice > 0, shutdown.notice >= shutdown.deadline, faults.isInBounds(key)
        else { return }
        faults.add(
            key,
            "is \(shutdown.notice) s of the \(shutdown.deadline) s of shutdown.deadline: "
                + "leave some in which clients are closed"
        )
    }

    /// The files that the broker writes, by key.
    private var files: [(key: String, path: String?)] {
        [
            ("webhooks.database", webhooks.database), ("recovery.database", recovery.database),
            ("recovery.spool", recovery.spool),
        ]
    }

    /// Checks that no two files are the same.
    private func checkFiles(_ faults: inout FaultCollector) {
        for (index, (key, path)) in files.enumerated() {
            guard let path, let twin = files.prefix(index).first(where: { $0.path == path }) else {
                continue
            }
            faults.add(key, "is \(path), as \(twin.key) is: name a file of its own")
        }
    }

    private func warnFolders(_ warnings: inout FaultCollector) {
        for (key, path) in [("listen.unix_socket", unixSocket)] + files {
            guard let path, let slash = path.lastIndex(of: "/") else { continue }
            let folder = slash == path.startIndex ? "/" : String(path[..<slash])
            guard access(folder, F_OK) != 0 else { continue }
            warnings.add(
                key,
                "is \(path), but the folder \(folder) does not exist: make it, writable for the broker's user"
            )
        }
    }
}
