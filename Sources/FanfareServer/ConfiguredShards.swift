package import Broker
package import BrokerConfiguration
import Digests
package import Gateway
import HTTPServer
package import Logging
package import Shard
import WebSocket

extension ServerSettings {
    /// The settings of a broker with this configuration; what a test chooses has defaults.
    package convenience init(
        _ configuration: Configuration,
        shardCount: Int = 1,
        smallPresenceChannelMax: Int = 100,
        leaving: LeaveQueue.Settings = LeaveQueue.Settings(),
        confirmationPortions: ConfirmationPortions = ConfirmationPortions(),
        streamSeed: UInt64 = .random(in: .min ... .max),
        cluster: (any ClusterMembership)? = nil,
        log: Logger? = nil
    ) {
        self.init(
            admissionControl: AdmissionControl(
                configuration.admission,
                connectionsMax: configuration.connectionsMax,
                log: log
            ),
            handshakesTotalMax: configuration.admission.handshakesMax,
            reconnectsTotalPerSecond: configuration.shutdown.pace,
            activityTimeout: configuration.activityTimeout,
            pongTimeout: configuration.pongTimeout,
            streamLimits: configuration.streamLimits,
            queuedBytesTotalMax: configuration.queuedBytesTotalMax,
            retainedBytesTotalMax: configuration.retainedBytesTotalMax,
            relayedEventsMax: configuration.relayedEventsMax,
            triggerTimeout: configuration.triggerTimeout,
            messageTimeout: configuration.messageTimeout,
            connectionRecords: configuration.connectionRecords,
            hasArchive: configuration.recovery.database != nil,
            unstoredBytesMax: configuration.recovery.unstoredBytesMax,
            continuesInMemory: configuration.recovery.whenFailing == .memory,
            shardCount: shardCount,
            smallPresenceChannelMax: smallPresenceChannelMax,
            leaving: leaving,
            confirmationPortions: confirmationPortions,
            streamSeed: streamSeed,
            cluster: cluster,
            log: log
        )
    }
}

extension AppRegistry {
    /// Creates the first registry; the identifiers and keys of the apps differ.
    package convenience init(_ apps: [AppConfiguration], consoleApp: App? = nil) {
        self.init(apps, fingerprint: Self.fingerprint(of: apps), consoleApp: consoleApp)
    }

    /// Returns the registry that replaces this one.
    package func succeeded(by apps: [AppConfiguration]) -> AppRegistry {
        succeeded(by: apps, fingerprint: Self.fingerprint(of: apps))
    }

    /// The fingerprint of apps: four hexadecimal digits of a digest of the values of their keys.
    static func fingerprint(of apps: [AppConfiguration]) -> String {
        let text = apps.map(\.identity).sorted().joined(separator: "\n\n")
        return String(Hex.encode(Digest.sha256(Array(text.utf8).span)).prefix(4))
    }
}

extension SiteSettings {
    /// The settings in a configuration; ``HTTPTimeouts/grace`` is in proportion to the longest idle time.
    package init(_ configuration: Configuration) {
        var timeouts = configuration.httpTimeouts
        timeouts.grace = .seconds(min(15, max(2, timeouts.idle.components.seconds / 5)))
        self.init(
            pathPrefix: configuration.pathPrefix,
            requiresProtocolVersion: configuration.requiresProtocolVersion,
            webSocketLimits: configuration.webSocketLimits,
            deflate: DeflateOptions(configuration.compression),
            httpLimits: configuration.httpLimits,
            httpTimeouts: timeouts
        )
    }
}

extension DeflateOptions {
    /// What the broker accepts of a client's offer; `nil` for no compression.
    ///
    /// Without context takeover, since each of tens of thousands of connections would keep a window.
    fileprivate init?(_ configuration: Configuration.Compression) {
        guard configuration.isEnabled else { return nil }
        self.init(
            serverNoContextTakeover: true,
            clientNoContextTakeover: true,
            compressionThreshold: configuration.threshold
        )
    }
}
