import ArgumentParser
import CommandSupport
import HTTPClient
import PusherProtocol

struct SoakCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract:
            "Apply a mixed load for a long time, and check that the server releases all of it.",
        discussion: """
            Residents stay subscribed and receive events. Visitors connect for some seconds, then \
            close, are reset, change the channel, or pause reading. Members join and leave a \
            presence channel. Groups of connections exchange client events. Slow readers stop \
            reading until the server should have closed them. Every delivery must arrive once and \
            in order. Connections that the server closes with a code of the protocol are counted \
            by code.

            After the warm-up only the permanent connections stay, and the server's resident \
            memory and descriptors are measured; at the end they are compared. The exit code is 1 \
            if a delivery was lost, repeated or out of order, or if the server uses more memory or \
            descriptors. The server must run on this machine, and the app needs client events.

            --backlog must be more than the server's limit of queued bytes plus the kernel's \
            buffers, about half a MiB.

            Examples:
              fanfare bench soak --seconds 1800 --json result.json
              fanfare bench soak --seconds 60 --warm-up 20 --residents 50
              fanfare bench soak --tls-url wss://127.0.0.1:6002 --insecure
            """
    )

    @OptionGroup var options: BenchOptions
    @Option(help: .seconds("Duration of the load.")) var seconds = 1_800.0
    @Option(help: .seconds("Duration of the warm-up before the load.")) var warmUp = 60.0

    @Option(
        help: .seconds(
            """
            How long the server's descriptors must be stable before they are counted; use more \
            than 30 with webhooks, whose connections are kept for 30 s.
            """
        )
    )
    var settle = 6.0

    @Option(help: .count("Number of permanent subscribers.")) var residents = 320
    @Option(help: .rate("Events per second.")) var rate = 200.0
    @Option(help: .bytes("Length of each event's data.")) var size = 512
    @Option(help: .rate("Visitors per second.")) var visitors = 20.0
    @Option(help: .count("Number of slow readers.")) var slow = 40
    @Option(help: .mebibytes("Data after which a slow reader resumes reading.")) var backlog = 18
    @Option(help: .url("The same server's wss:// URL, for half of the load.")) var tlsURL: String?

    func validate() throws {
        if tlsURL != nil, secureURL?.isSecure != true {
            throw ValidationError("--tls-url must be like wss://127.0.0.1:6002")
        }
        try checkValues()
        try refuseDeflate(options)
    }

    /// The number of channels of the residents of one side.
    private static let channelCount = 8
    private static let groupCount = 5
    /// The number of observers of the presence channel, and of connections that join and leave it.
    private static let observerCount = 10

    private var secureURL: ServerURL? { tlsURL.flatMap { ServerURL(webSocketURL: $0) } }

    var connections: (count: Int, option: String) {
        let visiting = Int(visitors * 16) + ConnectionRamp.pendingMax
        let others = Self.groupCount * SoakClientEvents.groupSize + 2 * Self.observerCount
        return (residents + slow + visiting + others, "--residents or --visitors")
    }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        guard let server = generator.server else { throw .noServerProcess }
        guard let memory = MemoryHistory(of: server, countsDescriptors: true) else {
            throw .memoryUnreadable(ids: server.ids)
        }
        var workloads: [any SoakWorkload] = []
        if let url = secureURL {
            let secure = try LoadGenerator(beside: generator, to: url)
            workloads += try subscribers("plain", "soak", half: true, generator)
            workloads += try subscribers("TLS", "private-soak-tls", half: true, secure)
        } else {
            workloads += try subscribers("plain", "soak", half: false, generator)
        }
        let members = PresenceClients(
            of: try .named("presence-soak"),
            observers: Self.observerCount,
            visitors: Self.observerCount,
            generator
        )
        workloads.append(SoakPresence(members))
        workloads.append(try SoakClientEvents(groupCount: Self.groupCount, generator))
        let run = SoakRun(self, workloads, generator, memory: memory)
        try run.run()
        return Findings(fault: run.fault, rows: run.rows)
    }

    /// Residents, visitors and slow readers that connect to the same URL, all or half of them.
    private func subscribers(
        _ name: String,
        _ prefix: String,
        half isHalf: Bool,
        _ generator: LoadGenerator
    ) throws(BenchError) -> [any SoakWorkload] {
        let share = isHalf ? 2 : 1
        let names = (0..<Self.channelCount).map { "\(prefix)-\($0)" }
        let subscribers = Subscribers(
            of: try ChannelName.named(names),
            each: max(1, residents / Self.channelCount / share),
            generator
        )
        let slowReaders = StalledClients(
            count: max(1, slow / share),
            beside: subscribers,
            backlog: backlog << 20,
            reconnectsPerSecond: 10
        )
        let size = size
        let publisher = PacedPublisher(
            to: subscribers,
            pace: .rate(rate / Double(share)),
            dataLength: size,
            recordPublished: { slowReaders.recordPublished(size, to: $0) }
        )
        return [
            SoakResidents(name: "\(name) residents", publisher),
            SoakVisitors(name: "\(name) visitors", of: subscribers, rate: visitors / Double(share)),
            SoakSlowReaders(name: "\(name) slow readers", slowReaders),
        ]
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(residents)) residents, \(decimal(visitors, places: 1)) visitors and \
        \(decimal(rate, places: 1)) events a second, \(grouped(slow)) slow readers, presence \
        and client events\(tlsURL == nil ? "" : ", half through TLS"), for \
        \(decimal(seconds, places: 3)) s after a warm-up of \(decimal(warmUp, places: 3)) s
        """
    }

    var values: [Parameter] {
        let week = 0.1...604_800
        return [
            .number("soak_s", seconds, "--seconds", in: week),
            .number("warm_up_s", warmUp, "--warm-up", in: week),
            .number("settle_s", settle, "--settle", in: week),
            .count("residents", residents, "--residents", max: 100_000),
            .number("rate_per_s", rate, "--rate", in: sendableRates), .size(size),
            .number("visitors_per_s", visitors, "--visitors", in: 0.1...1_000),
            .count("slow_readers", slow, "--slow", max: 100_000),
            .mebibytes("backlog_bytes", backlog, "--backlog", max: 1 << 20),
            .value("tls_url", secureURL.map { .text($0.webSocketURL) } ?? .null),
        ]
    }
}
