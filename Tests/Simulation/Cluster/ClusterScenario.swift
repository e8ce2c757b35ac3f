import Broker
import BrokerConfiguration
import Logging
import Redis
import Shard

/// A channel of the simulated cluster.
struct ClusterScenarioChannel {
    let app: Int
    let name: String

    var isPresence: Bool { name.hasPrefix("presence-") }
    /// Whether a subscription needs a signature, and so allows client events.
    var isSigned: Bool { isPresence || name.hasPrefix("private-") }

    init(_ app: Int, _ name: String) { (self.app, self.name) = (app, name) }
}

/// The constants of the simulated clusters: few names, so that they collide often.
enum ClusterScenario {
    /// The channels; those of the second app have no positions.
    static let channels = [
        ClusterScenarioChannel(0, "news"), ClusterScenarioChannel(0, "private-a"),
        ClusterScenarioChannel(0, "kept"), ClusterScenarioChannel(0, "presence-x"),
        ClusterScenarioChannel(1, "plain"), ClusterScenarioChannel(1, "private-b"),
        ClusterScenarioChannel(1, "presence-y"),
    ]
    static let channelIndices = Dictionary(
        uniqueKeysWithValues: channels.enumerated().map { ($1.name, $0) }
    )
    static let users = ["u0", "u1", "u2"]

    static let prefix = "f"
    static let partitionCount = 4
    static let messagesMax = 20
    static let messageAgeMax = 60
    /// The seconds after which a silent node is dead, and its remains are removed.
    static let lease = 10
    static let reapedWithin = lease + 3
    /// The seconds without Redis after which clients are closed, and after which none is left that was not told.
    static let closeAfter = 15
    static let toldWithin = closeAfter + 20
    /// The seconds within which nodes leave a server that most Sentinels do not name any more.
    static let leftWithin = 5
    /// The bytes that Redis queues for a connection that does not read.
    static let outputMax = 40_000
    /// When the simulation begins, in milliseconds since 1970.
    static let epoch: Int64 = 1_700_000_000_000

    /// The channels of an app.
    static func channels(of app: Int) -> [Int] {
        channels.indices.filter { channels[$0].app == app }
    }

    /// The keys of each partition.
    static let keys = PartitionKeys.all(prefix: prefix, count: partitionCount)

    /// The configuration of a node.
    ///
    /// - Parameters:
    ///   - waitsForReplica: Whether publishers wait for the replica.
    ///   - sentinelCount: The number of Sentinels that the node asks for the primary; 0 if it knows the primary's address.
    /// - Returns: The configuration.
    static func configuration(waitsForReplica: Bool, sentinelCount: Int) -> Configuration {
        var configuration = Configuration()
        configuration.apps = Scenario.appIDs.indices.map { app in
            var app = Scenario.app(app)
            app.features.clientEvents = true
            app.features.subscriptionCount = true
            app.features.presenceNoticeDelay = 0
            app.limits.clientEventRate = Rate(perSecond: 1_000)
            app.webhooks = [WebhookConfiguration(url: "http://127.0.0.1:1")]
            app.recovery.isEnabled = app.id == Scenario.appIDs[0]
            app.recovery.standard.messagesMax = messagesMax
            app.recovery.standard.ageMax = messageAgeMax
            var rule = RecoveryRuleConfiguration()
            rule.settings.channelPrefix = "kept"
            rule.settings.keep = .always
            app.recoveryRules = [rule]
            return app
        }
        configuration.cluster.engine = .redis
        configuration.cluster.node = "node"
        configuration.cluster.partitions = partitionCount
        configuration.cluster.prefix = prefix
        configuration.cluster.lease = lease
        configuration.cluster.closeAfter = closeAfter
        if waitsForReplica { configuration.cluster.redis.acknowledge = .replica }
        configuration.cluster.redis.urls =
            sentinelCount > 0 ? ["redis://\(SimulatedSentinel.name)"] : ["redis://127.0.0.1:1"]
        configuration.cluster.redis.sentinels = (0..<sentinelCount).map {
            "redis://127.0.0.\($0 + 1):26379"
        }
        return configuration
    }

    static let silence = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
}
