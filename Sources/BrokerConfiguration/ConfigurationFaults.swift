internal import Net

extension Configuration {
    /// Validates the configuration; the only place that decides whether a broker may run with it.
    ///
    /// Reads files (certificates must be readable), but does not use the network.
    ///
    /// - Returns: All faults, with their keys; empty for a valid configuration.
    public func faults() -> [ConfigurationFault] {
        let faults = boundFaults()
        // A contradiction with a value that is out of bounds is not reported separately.
        let known = Set(faults.map(\.key))
        return faults + hostFaults(besides: known) + listenerFaults() + certificateFaults()
            + appFaults() + trustFaults()
            + limitFaults(besides: known) + shutdownFaults(besides: known) + archiveFaults()
            + clusterFaults(besides: known) + consoleFaults(besides: known)
    }

    /// Validates the configuration, see ``faults()``.
    ///
    /// - Throws: All faults.
    public func validate() throws(ConfigurationError) {
        let faults = faults()
        guard faults.isEmpty else { throw ConfigurationError(faults) }
    }

    /// Whether other machines can reach the TCP listeners.
    package var isExposed: Bool {
        guard port != nil || tlsPort != nil else { return false }
        return hosts.compactMap { SocketAddress(ip: $0, port: 0) }.contains { !$0.isLoopback }
    }

    private func boundFaults() -> [ConfigurationFault] {
        ConfigurationKeys.all.flatMap { $0.validate(self, "") }
    }

    /// The faults of lists of hosts: no port can be listened on twice at an address.
    private func hostFaults(besides known: Set<String>) -> [ConfigurationFault] {
        let lists = [
            ("listen.host", hosts), ("metrics.host", metrics.hosts),
            ("console.host", console.hosts),
        ]
        return lists.compactMap { key, hosts in
            guard !known.contains(key), let problem = Self.overlap(of: hosts) else { return nil }
            return ConfigurationFault(key: key, problem: problem)
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

    private func listenerFaults() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        func add(_ key: String, _ problem: String) {
            faults.append(ConfigurationFault(key: key, problem: problem))
        }
        if port == nil, tlsPort == nil, unixSocket == nil {
            add("listen.port", "is none, and so are tls.port and listen.unix_socket: set one")
        }
        if let port, port != 0, port == tlsPort {
            add("tls.port", "is \(port), as listen.port is: choose another, for each is a listener")
        }
        if let metricsPort = metrics.port, metricsPort != 0 {
            for (key, other) in [("listen.port", port), ("tls.port", tlsPort)]
            where other == metricsPort {
                add("metrics.port", "is \(metricsPort), as \(key) is: choose one of its own")
            }
        }
        if tlsPort != nil, certificates.isEmpty {
            add(
                "tls.port",
                "needs a certificate: name its files in tls.certificates, or with "
                    + "--tls-certificate and --tls-key (\"fanfare keys certificate\" makes one for development)"
            )
        }
        if tlsPort == nil, !certificates.isEmpty {
            add("tls.certificates", "are of no use without tls.port: set it, as to 6002")
        }
        return faults
    }

    private func archiveFaults() -> [ConfigurationFault] {
        let files = [
            ("webhooks.database", webhooks.database), ("recovery.database", recovery.database),
            ("recovery.spool", recovery.spool),
        ]
        var faults: [ConfigurationFault] = []
        for (index, (key, path)) in files.enumerated() {
            guard let path, let twin = files.prefix(index).first(where: { $0.1 == path }) else {
                continue
            }
            let problem = "is \(path), as \(twin.0) is: name a file of its own"
            faults.append(ConfigurationFault(key: key, problem: problem))
        }
        return faults
    }

    private func shutdownFaults(besides known: Set<String>) -> [ConfigurationFault] {
        let key = "shutdown.notice"
        guard shutdown.notice > 0, shutdown.notice >= shutdown.deadline, !known.contains(key)
        else { return [] }
        let problem =
            "is \(shutdown.notice) s of the \(shutdown.deadline) s of shutdown.deadline: "
            + "leave some in which clients are closed"
        return [ConfigurationFault(key: key, problem: problem)]
    }

    private func certificateFaults() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        for (index, files) in certificates.enumerated() {
            guard !files.certificate.isEmpty, !files.key.isEmpty else { continue }
            func add(_ name: String, _ problem: String) {
                let key = "tls.certificates.\(index).\(name)"
                faults.append(ConfigurationFault(key: key, problem: problem))
            }
            var areReadable = true
            for (name, path) in [("certificate", files.certificate), ("key", files.key)] {
                do {
                    _ = try FileBytes.read(path)
                } catch {
                    add(name, "cannot be read: \(path): \(error.reason)")
                    areReadable = false
                }
            }
            guard areReadable else { continue }
            do {
                // The same check as at start, so that a start does not fail on them.
                _ = try TLSContext.server([files])
            } catch .noKey(let reason) {
                add("key", "must be a private key in PEM without a passphrase: \(reason)")
            } catch .keyMismatch {
                add("key", "is not the key of \(files.certificate): name the one it was made with")
            } catch .noCertificate(let reason) {
                add("certificate", "must be a certificate in PEM: \(reason)")
            } catch {
                add("certificate", "cannot be used: \(error)")
            }
        }
        return faults
    }
}
