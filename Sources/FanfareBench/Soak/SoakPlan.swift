import CommandSupport
import Net
import Primitives
import PusherProtocol

/// A mixed load for a long time, and what the server takes of its machine before and after.
struct SoakPlan: BenchPlan {
    let benchmark = "soak"
    /// How long the load is on, after the warm-up.
    var duration: Duration
    /// How long the same load is on before the server's footprint is taken.
    var warmUp: Duration
    /// How long the server's descriptors must not have changed before its footprint is taken.
    var settling: Duration
    /// How many subscribers stay for the whole run; half of them through TLS if there is a URL for that.
    var residentCount: Int
    /// Events a second from the HTTP API.
    var rate: Double
    /// The length of each event's data, in bytes; at least ``EventMarker/length``.
    var dataLength: Int
    /// How many visitors come a second.
    var visitorRate: Double
    /// How many subscribers do not read.
    var slowCount: Int
    /// After how many bytes of data one of these reads again.
    var backlog: Int
    /// The same server through TLS; nil leaves that out.
    var secureURL: ServerURL?

    /// On how many channels the residents of one side are.
    static let channelCount = 8
    /// How many rooms of client events there are.
    static let groupCount = 5
    /// How many watch a presence channel.
    static let observerCount = 10
    /// How many come to it and go.
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

    // MARK: The workloads

    private func workloads(_ generator: LoadGenerator) throws(BenchError) -> [any SoakWorkload] {
        var workloads: [any SoakWorkload] = []
        let secure = try secureURL.map { (url) throws(BenchError) in
            try Self.generator(beside: generator, to: url)
        }
        let share = secure == nil ? 1 : 2
        workloads += try side("plain", "soak", share, generator)
        if let secure { workloads += try side("TLS", "private-soak-tls", share, secure) }
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

    /// Residents, visitors and slow readers that reach the server in the same way.
    private func side(
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

    /// A generator on the same loop that reaches the server at another address.
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
            throw .machine("TLS cannot be used: \(error)")
        }
    }

    // MARK: The report

    /// What was done, for people.
    var headline: String {
        """
        \(grouped(residentCount)) residents, \(decimal(visitorRate, places: 1)) visitors and \
        \(decimal(rate, places: 1)) events a second, \(grouped(slowCount)) slow readers, presence \
        and client events\(secureURL == nil ? "" : ", half through TLS"), for \
        \(seconds(duration)) after a warm-up of \(seconds(warmUp))
        """
    }

    /// What was done, for programs.
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
