import CommandSupport
import Net
import Primitives
import PusherProtocol

/// A mixed load over a long time, and the server's footprint before and after it.
struct SoakPlan: BenchPlan {
    let benchmark = "soak"
    /// How long the load lasts after the warm-up.
    var duration: Duration
    /// How long the load lasts before the server's footprint is first measured.
    var warmUp: Duration
    /// How long the server's descriptors must be stable before its footprint is measured.
    var settling: Duration
    /// The number of permanent subscribers; half of them use TLS if there is a URL for it.
    var residentCount: Int
    /// Events per second from the HTTP API.
    var rate: Double
    /// The length of each event's data, in bytes; at least ``EventMarker/length``.
    var dataLength: Int
    /// Visitors per second.
    var visitorRate: Double
    /// The number of subscribers that do not read.
    var slowCount: Int
    /// The bytes of data after which a slow reader resumes reading.
    var backlog: Int
    /// The same server's URL for TLS; nil for no TLS.
    var secureURL: ServerURL?

    /// The number of channels of the residents of one side.
    static let channelCount = 8
    /// The number of groups that exchange client events.
    static let groupCount = 5
    /// The number of observers of the presence channel.
    static let observerCount = 10
    /// The number of connections that join and leave it.
    static let memberCount = 10

    var connections: (count: Int, option: String) {
        let visitors = Int(visitorRate * 16) + ConnectionRamp.pendingMax
        let others =
            Self.groupCount * SoakClientEvents.groupSize + Self.observerCount + Self.memberCount
        return (residentCount + slowCount + visitors + others, "--residents or --visitors")
    }

    func begin(with generator: LoadGenerator) throws(BenchError) -> any BenchRun {
        guard let server = generator.server else { throw .noServerProcess }
        guard Footprint(of: server) != nil else { throw .memoryUnreadable(ids: server.ids) }
        return SoakRun(
            plan: self,
            workloads: try workloads(generator),
            generator: generator,
            memory: FootprintHistory(of: server)
        )
    }

    // MARK: Workloads

    private func workloads(_ generator: LoadGenerator) throws(BenchError)
        -> [any SoakWorkload]
    {
        var workloads: [any SoakWorkload] = []
        let secure = try secureURL.map { (url) throws(BenchError) in
            try Self.generator(beside: generator, to: url)
        }
        let share = secure == nil ? 1 : 2
        workloads += try subscriberWorkloads("plain", "soak", share, generator)
        if let secure {
            workloads += try subscriberWorkloads("TLS", "private-soak-tls", share, secure)
        }
        let presence = PresencePlan(
            channel: try Self.channel("presence-soak"),
            observerCount: Self.observerCount,
            visitorCount: Self.memberCount,
            visitCount: .max,
            rate: 2
        )
        workloads.append(SoakPresence(presence, generator: generator))
        workloads.append(SoakClientEvents(groupCount: Self.groupCount, generator: generator))
        return workloads
    }

    /// Residents, visitors and slow readers that connect to the same URL.
    private func subscriberWorkloads(
        _ name: String,
        _ prefix: String,
        _ share: Int,
        _ generator: LoadGenerator
    ) throws(BenchError) -> [any SoakWorkload] {
        var channels: [ChannelName] = []
        for index in 0..<Self.channelCount {
            channels.append(try Self.channel("\(prefix)-\(index)"))
        }
        let residents = SoakResidents(
            name: "\(name) residents",
            channels: channels,
            subscribersPerChannel: max(1, residentCount / Self.channelCount / share),
            rate: rate / Double(share),
            dataLength: dataLength,
            generator: generator
        )
        let visitors = SoakVisitors(
            name: "\(name) visitors",
            of: residents.subscribers,
            rate: visitorRate / Double(share),
            generator: generator
        )
        let slowReaders = StalledClients(
            count: max(1, slowCount / share),
            beside: residents.subscribers,
            backlog: backlog,
            reconnectsPerSecond: 10,
            generator: generator
        )
        residents.publisher.onPublish = { channel, count in
            slowReaders.recordPublished(count, to: channel)
        }
        return [residents, visitors, SoakSlowReaders(name: "\(name) slow readers", slowReaders)]
    }

    private static func channel(_ name: String) throws(BenchError) -> ChannelName {
        do throws(ChannelNameError) {
            return try ChannelName(name)
        } catch {
            throw .machine("\(error)")
        }
    }

    /// Creates a generator on the same loop that connects to another URL of the server.
    private static func generator(
        beside generator: LoadGenerator,
        to url: ServerURL
    ) throws(BenchError) -> LoadGenerator {
        var target = generator.target
        target.url = url
        let addresses: [SocketAddress]
        do throws(ResolveError) {
            addresses = try SocketAddress.resolve(host: url.host, port: url.port)
        } catch {
            throw .resolution(error)
        }
        do throws(TLSError) {
            let connector = try Connector(target, addresses: addresses)
            return LoadGenerator(connector: connector, reactor: generator.reactor, isLocal: false)
        } catch {
            throw .machine("TLS cannot be set up: \(error)")
        }
    }

    // MARK: Report

    /// A one-line description of the run.
    var headline: String {
        """
        \(grouped(residentCount)) residents, \(decimal(visitorRate, places: 1)) visitors and \
        \(decimal(rate, places: 1)) events a second, \(grouped(slowCount)) slow readers, presence \
        and client events\(secureURL == nil ? "" : ", half through TLS"), for \
        \(seconds(duration)) after a warm-up of \(seconds(warmUp))
        """
    }

    /// The plan's values, for the JSON object.
    var parameters: [BenchReport.Member] {
        [
            ("soak_s", .number(duration.inSeconds, places: 3)),
            ("warm_up_s", .number(warmUp.inSeconds, places: 3)),
            ("settle_s", .number(settling.inSeconds, places: 3)),
            ("residents", .integer(residentCount)),
            ("rate_per_s", .number(rate, places: 3)), ("size_bytes", .integer(dataLength)),
            ("visitors_per_s", .number(visitorRate, places: 3)),
            ("slow_readers", .integer(slowCount)), ("backlog_bytes", .integer(backlog)),
            ("tls_url", secureURL.map { .text($0.text) } ?? .null),
        ]
    }
}
