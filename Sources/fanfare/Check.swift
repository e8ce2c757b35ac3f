import ArgumentParser
import Broker
import BrokerConfiguration
import Cluster
import CommandSupport
import FanfareServer
import HTTP1
import Net
import Observability
import PusherProtocol
import ServerLog
import WebSocket
import Webhooks

/// `fanfare check`: checks a configuration without running a broker.
struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check a configuration, and print a summary.",
        discussion: """
            Reads the file and the FANFARE_… variables as "fanfare serve" does. Prints a summary \
            of the configuration, or all its faults with their locations; then the exit code is 1. \
            Without a file it checks the development configuration.

            With cluster.engine: redis it also queries the servers of the cluster, and prints what \
            is unsafe there: an eviction policy, no persistence, no replica, or a wrong clock. \
            It is a fault if a node would refuse to start, or if a server cannot be queried.

            It warns if the system clock was set since the files of recovery were written.

            For each certificate it prints the names and the days that are left. An expired \
            certificate is a fault here, although a broker starts with it.

            Examples:
              fanfare check --config fanfare.yaml
              fanfare check --config fanfare.yaml --limits
              fanfare check --config fanfare.yaml --offline
              FANFARE_LISTEN_PORT=7000 fanfare check
            """
    )

    @OptionGroup var source: ConfigurationSource

    @Flag(help: "List every limit: key, value, metric name, and what happens when it is reached.")
    var limits = false

    @Flag(help: "Check only the file: do not connect to the servers of a cluster.")
    var offline = false

    func run() async throws {
        let configuration = try source.load()
        let name = source.path.map { "\($0) is valid." }
        Console.print(name ?? "No configuration file; the development configuration is valid.")
        Console.print("")
        guard !limits else {
            for line in LimitTable(configuration).lines { Console.print("  \(line)") }
            return
        }
        for line in ConfigurationSummary.lines(of: configuration) { Console.print("  \(line)") }
        let expired = configuration.expiredCertificates()
        let warnings =
            configuration.warnings().filter { !expired.contains($0) }
            + configuration.clockWarnings()
        if !expired.isEmpty || !warnings.isEmpty { Console.print("") }
        for fault in expired { Console.print("  fault    \(fault)") }
        for warning in warnings { Console.print("  warning  \(warning)") }
        var isUsable = expired.isEmpty
        if configuration.cluster.engine != nil, !offline {
            isUsable = try await checkServers(of: configuration.cluster) && isUsable
        }
        guard isUsable else { throw ExitCode.failure }
    }

    /// Prints what is unsafe about the servers of a cluster; returns whether a node would start with them.
    private func checkServers(of cluster: ClusterConfiguration) async throws -> Bool {
        let inspector: ClusterInspector
        do {
            inspector = try ClusterInspector(cluster)
        } catch {
            throw CommandError("The servers of the cluster cannot be checked: \(error)")
        }
        let servers: ClusterServers
        do throws(ClusterInspector.Failure) {
            servers = try await inspector.servers()
        } catch {
            servers = ClusterServers(fault: error)
        }
        var isUsable = servers.fault == nil
        if let fault = servers.fault {
            Console.print("")
            Console.print("\(fault.server):")
            Console.print("  fault    \(fault.reason)")
        }
        for server in servers.all {
            Console.print("")
            do {
                let assessment = try await inspector.assess(server)
                Console.print("\(server.name) (\(assessment.server)):")
                for fault in assessment.faults { Console.print("  fault    \(fault)") }
                for warning in assessment.warnings { Console.print("  warning  \(warning)") }
                if assessment.faults.isEmpty, assessment.warnings.isEmpty {
                    Console.print("  nothing unsafe found")
                }
                if !assessment.faults.isEmpty { isUsable = false }
            } catch {
                Console.print("\(server.name):")
                Console.print("  fault    it cannot be queried: \(error.reason)")
                isUsable = false
            }
        }
        return isUsable
    }
}

/// A summary of a configuration.
enum ConfigurationSummary {
    /// The lines, each with a label.
    static func lines(of configuration: Configuration) -> [String] {
        var lines: [(String, String)] = []
        for address in addresses(of: configuration) { lines.append(("listens", address)) }
        lines += configuration.certificateDescriptions().map { ("certificate", $0) }
        if let port = configuration.metrics.port {
            for host in configuration.metrics.hosts {
                let place = url("http", host, port)
                lines.append(("metrics", port == 0 ? place : place + "/metrics"))
            }
        }
        if let port = configuration.console.port {
            for host in configuration.console.hosts {
                lines.append(("console", url("http", host, port)))
            }
        }
        if !configuration.pathPrefix.isEmpty {
            lines.append(("paths", "begin with \(configuration.pathPrefix)"))
        }
        let loops = configuration.loops
        lines.append(("loops", loops == 0 ? "one for each core" : "\(loops)"))
        for app in configuration.apps {
            for (number, text) in AppSummary.lines(of: app).enumerated() {
                lines.append((number == 0 ? "app \(app.id)" : "", text))
            }
        }
        lines.append(
            (
                "clients",
                "ping after \(configuration.activityTimeout) s of silence, "
                    + "pong within \(configuration.pongTimeout) s"
            )
        )
        lines.append(
            (
                "limits",
                (configuration.connectionsMax.map { "\($0) connections" }
                    ?? "connections up to the descriptor limit")
                    + ", messages up to \(bytes(configuration.webSocketLimits.messageLengthMax))"
                    + ", queues up to \(bytes(configuration.streamLimits.queuedBytesMax))"
                    + ", requests up to \(bytes(configuration.httpLimits.bodyLengthMax))"
            )
        )
        let compression = configuration.compression
        lines.append(
            (
                "compression",
                compression.isEnabled
                    ? "messages of \(bytes(compression.threshold)) or more" : "off"
            )
        )
        if configuration.apps.contains(where: { !$0.webhooks.isEmpty }) {
            let webhooks = configuration.webhooks
            let trust = webhooks.trust.map { ", trusting \($0)" } ?? ""
            let place = webhooks.database ?? "memory, lost at a restart"
            lines.append(("webhooks", "queued in \(place)\(trust)"))
        }
        lines += recovery(configuration.recovery)
        if configuration.cluster.engine != nil { lines.append(cluster(configuration.cluster)) }
        let shutdown = configuration.shutdown
        let notice = shutdown.notice > 0 ? "notice of \(shutdown.notice) s, " : ""
        lines.append(
            (
                "shutdown",
                "\(notice)closes \(shutdown.pace) clients per second, "
                    + "within \(shutdown.deadline) s"
            )
        )
        lines.append(("log", "\(configuration.log.level) and above, \(format(configuration.log))"))
        let width = (lines.map(\.0.count).max() ?? 0) + 2
        return lines.map { subject, text in
            subject + String(repeating: " ", count: width - subject.count) + text
        }
    }

    private static func recovery(_ recovery: Configuration.Recovery) -> [(String, String)] {
        var lines: [(String, String)] = []
        if let database = recovery.database {
            lines.append(
                (
                    "recovery",
                    "stored in \(database), up to \(bytes(recovery.databaseBytesMax)), surviving the "
                        + (recovery.sync == .power ? "loss of power" : "end of the process")
                )
            )
        }
        if let spool = recovery.spool {
            lines.append((lines.isEmpty ? "recovery" : "", "kept over a restart in \(spool)"))
        }
        return lines
    }

    private static func cluster(_ cluster: ClusterConfiguration) -> (String, String) {
        let sentinels = cluster.redis.sentinels.count
        return (
            "cluster",
            cluster.redis.serverNames.joined(separator: ", ")
                + (sentinels > 0 ? " as \(sentinels) Sentinels name it" : "")
                + ", \(cluster.partitions) partitions, prefix \(cluster.prefix)"
                + (cluster.node.map { ", node \($0)" } ?? "")
        )
    }

    private static func addresses(of configuration: Configuration) -> [String] {
        var addresses: [String] = []
        if let port = configuration.port {
            addresses += configuration.hosts.map { url("ws", $0, port) }
        }
        if let port = configuration.tlsPort {
            let files = configuration.certificates.map(\.certificate).joined(separator: ", ")
            addresses += configuration.hosts.map { "\(url("wss", $0, port)) with \(files)" }
        }
        if let path = configuration.unixSocket { addresses.append("unix:\(path)") }
        return addresses
    }

    private static func url(_ scheme: String, _ host: String, _ port: UInt16) -> String {
        let host = host.contains(":") ? "[\(host)]" : host
        return port == 0 ? "\(scheme)://\(host) on any free port" : "\(scheme)://\(host):\(port)"
    }

    private static func format(_ log: Configuration.Log) -> String {
        switch log.format {
        case .auto: "text on a terminal and JSON otherwise"
        case .text: "as text"
        case .json: "as JSON"
        }
    }

    /// A number of bytes in the largest unit that divides it.
    static func bytes(_ count: Int) -> String {
        if count >= 1 << 20, count % (1 << 20) == 0 { return "\(count >> 20) MiB" }
        if count >= 1 << 10, count % (1 << 10) == 0 { return "\(count >> 10) KiB" }
        return "\(count) bytes"
    }
}

/// A summary of an app's configuration, without secrets.
enum AppSummary {
    /// The lines: key, limits, features, origins and webhooks.
    static func lines(of app: AppConfiguration) -> [String] {
        guard app.isEnabled else { return ["key \(app.key), disabled"] }
        var lines = ["key \(app.key)\(credentials(of: app))\(limits(of: app))"]
        lines.append("features: " + features(of: app).joined(separator: ", "))
        lines += app.recoveryRules.map { rule in
            let age = rule.ageMax ?? app.recovery.standard.ageMax
            let count = rule.messagesMax ?? app.recovery.standard.messagesMax
            let store = rule.settings.store == .archive ? "the file" : "memory"
            return
                "keeps \(count) messages of \(rule.settings.channelPrefix)… for \(age) s in \(store)"
        }
        if app.isTLSOnly { lines.append("TLS only") }
        if !app.allowedOrigins.isEmpty {
            lines.append("origins " + app.allowedOrigins.joined(separator: ", "))
        }
        return lines + app.webhooks.map { "webhook " + describe($0) }
    }

    private static func credentials(of app: AppConfiguration) -> String {
        switch app.credentials.count {
        case 0: ""
        case 1: " and 1 more credential"
        case let count: " and \(count) more credentials"
        }
    }

    private static func limits(of app: AppConfiguration) -> String {
        var limits: [String] = []
        if let count = app.limits.connectionsMax { limits.append("\(count) connections") }
        limits.append("\(app.limits.subscriptionsMax) channels per connection")
        if let rate = app.limits.subscriptionRate {
            limits.append("\(rate.perSecond) subscriptions per second")
        }
        limits.append("data up to \(ConfigurationSummary.bytes(app.limits.texts.dataLengthMax))")
        for rule in app.limits.texts.dataRules {
            let length = ConfigurationSummary.bytes(rule.lengthMax)
            limits.append("up to \(length) on \(rule.channelPrefix)…")
        }
        if let rate = app.limits.requestRates.all {
            limits.append("\(rate.perSecond) requests per second")
        }
        return limits.map { ", " + $0 }.joined()
    }

    private static func features(of app: AppConfiguration) -> [String] {
        var features: [String] = []
        if app.features.clientEvents {
            features.append("client events (\(app.limits.clientEventRate.perSecond) per second)")
        }
        if app.features.subscriptionCount { features.append("subscription counts") }
        if app.features.users { features.append("users") }
        if app.features.watchlist { features.append("watchlists") }
        if app.features.authorizedConnections {
            features.append("authorized connections (\(app.features.authorizationTimeout) s)")
        }
        return features.isEmpty ? ["none"] : features
    }

    private static func describe(_ webhook: WebhookConfiguration) -> String {
        var text = webhook.shownURL + ": " + webhook.events.map(\.rawValue).joined(separator: ", ")
        if !webhook.channelPrefix.isEmpty { text += ", channels \(webhook.channelPrefix)…" }
        if !webhook.channelSuffix.isEmpty { text += ", channels …\(webhook.channelSuffix)" }
        if webhook.isBatching { text += ", batched" }
        return text
    }
}
