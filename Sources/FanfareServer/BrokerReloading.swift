public import BrokerConfiguration
import Console
import Digests
import Gateway
import Logging
import Net
import Observability
public import Shard
import Synchronization

extension BrokerServer {
    /// The result of a reload.
    public struct Reload: Sendable, Equatable {
        /// The added, changed and removed apps.
        public var apps: AppChanges
        /// The changed keys that take effect at the next start.
        public var restartKeys: [String]
        /// Whether new connections get different certificates.
        public var hasNewCertificates = false
    }

    /// Replaces the apps and the certificates while the broker runs.
    ///
    /// Clients stay connected, except those of removed apps (4001) and disabled apps (4003). The new credentials,
    /// features and limits of a changed app apply to its connections; a lower connection limit closes none. The
    /// certificate files are read again; new connections get the new certificates. Other changes, such as the address
    /// of a listener, are logged and take effect at the next start.
    ///
    /// - Parameters:
    ///   - configuration: The complete configuration.
    ///   - accepted: Called once after validation, before anything is logged: the caller applies the settings that are
    ///     its own, such as the log level.
    /// - Returns: What has changed, and what takes effect at the next start.
    /// - Throws: All faults of the configuration; then nothing has changed.
    @discardableResult
    public func reload(
        _ configuration: Configuration,
        accepted: () -> Void = {}
    ) async throws(ConfigurationError) -> Reload {
        try configuration.validate()
        let hasNewCertificates = try renewCertificates(configuration)
        accepted()
        shutdown.withLock { $0 = configuration.shutdown }
        let (registry, changes) = registry.withLock { registry in
            let old = registry
            registry = old.succeeded(by: configuration.apps)
            return (registry, registry.changes(since: old))
        }
        let reload = Reload(
            apps: changes,
            restartKeys: configuration.restartKeys(comparedWith: self.configuration),
            hasNewCertificates: hasNewCertificates
        )
        if hasNewCertificates, let context = certificates.withLock({ $0?.context }) {
            for shard in shards { await shard.present(context) }
        }
        console?.wasReloaded(configuration, registry)
        // Before clients of a new app can connect.
        await webhookService.replaceApps(registry)
        activityLog.replaceApps(registry)
        for shard in shards { await shard.replaceApps(registry) }
        var areLeft = true
        while areLeft {
            areLeft = false
            for shard in shards where await shard.closeOrphanedConnections(upTo: 500) {
                areLeft = true
            }
            if areLeft { try? await Task.sleep(for: .milliseconds(20)) }
        }
        report(reload)
        return reload
    }

    /// Reads the certificates again, if there is a TLS listener; returns whether they differ.
    private func renewCertificates(
        _ configuration: Configuration
    ) throws(ConfigurationError) -> Bool {
        guard let old = certificates.withLock({ $0 }) else { return false }
        do throws(TLSError) {
            guard let new = try ServedCertificates(configuration), new != old else { return false }
            certificates.withLock { $0 = new }
            return true
        } catch {
            // They have changed since the configuration was validated, a moment ago.
            let fault = ConfigurationFault(
                key: "tls.certificates",
                problem: "cannot be used: \(error)"
            )
            throw ConfigurationError([fault])
        }
    }

    private func report(_ reload: Reload) {
        log.notice(
            "configuration reloaded",
            metadata: [
                "added": "\(reload.apps.added.count)", "changed": "\(reload.apps.changed.count)",
                "removed": "\(reload.apps.removed.count)",
                "certificates": "\(reload.hasNewCertificates ? "renewed" : "unchanged")",
            ]
        )
        guard !reload.restartKeys.isEmpty else { return }
        log.warning(
            "some changes take effect at the next start",
            metadata: ["keys": "\(reload.restartKeys.joined(separator: ", "))"]
        )
    }
}

/// The certificates of a TLS listener, as they were in their files when they were read.
struct ServedCertificates: Sendable {
    let context: TLSContext
    /// The hash of the files, to detect changes.
    private let digest: [UInt8]

    /// Reads the files, blocking; `nil` when the configuration has none.
    ///
    /// - Parameter configuration: The configuration with the paths.
    /// - Throws: The file that cannot be used, and why.
    init?(_ configuration: Configuration) throws(TLSError) {
        guard !configuration.certificates.isEmpty else { return nil }
        var certificates: [TLSCertificate] = []
        var bytes: [UInt8] = []
        for files in configuration.certificates {
            let certificate = try TLSCertificate(reading: files)
            certificates.append(certificate)
            // PEM has no zero bytes, so a zero separates the files.
            bytes += certificate.certificatePEM + [0] + certificate.keyPEM + [0]
        }
        digest = Digest.sha256(bytes.span)
        context = try TLSContext.server(certificates)
    }
}

extension ServedCertificates: Equatable {
    /// Whether the files had the same content; then the old context is kept, and TLS sessions can be resumed.
    static func == (one: Self, other: Self) -> Bool { one.digest == other.digest }
}
