import ArgumentParser
import PusherProtocol

/// `fanfare bench fanout`: one channel, many subscribers.
struct FanoutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract: "Sends events to many subscribers of one channel and checks every delivery.",
        discussion: """
            Every subscriber must receive every event once and in order; otherwise the exit code \
            is 1. Events are triggered over the signed HTTP API. With --rate, latency counts from \
            the time at which an event was due, whether or not the server kept up.

            Examples:
              fanfare bench fanout
              fanfare bench fanout --subscribers 1000 --messages 200 --rate 20
              fanfare bench fanout --url wss://localhost:6002 --insecure --json
            """
    )

    @Option(
        help: ArgumentHelp("The server: ws or wss, host, port and path prefix.", valueName: "url")
    )
    var url = "ws://127.0.0.1:6001"

    @Option(help: "The app's key.")
    var key = "app-key"

    @Option(help: "The app's secret.")
    var secret = "app-secret"

    @Option(help: "The app's id in the HTTP API.")
    var appId = "1"

    @Option(help: ArgumentHelp("How many connections subscribe.", valueName: "count"))
    var subscribers = 10_000

    @Option(help: ArgumentHelp("How many events are triggered.", valueName: "count"))
    var messages = 100

    @Option(help: ArgumentHelp("The length of each event's data, in bytes.", valueName: "bytes"))
    var size = 64

    @Option(
        help: ArgumentHelp(
            "How many events may be on their way at once; 8 if neither this nor --rate is given.",
            valueName: "count"
        )
    )
    var window: Int?

    @Option(help: ArgumentHelp("How many events to trigger a second.", valueName: "per second"))
    var rate: Double?

    @Option(help: ArgumentHelp("The channel, public or private.", valueName: "name"))
    var channel = "fanfare-bench"

    @Option(
        help: ArgumentHelp(
            "The server's process, for its CPU time; found by itself if it listens on this machine.",
            valueName: "pid"
        )
    )
    var pid: Int32?

    @Flag(help: "Print one JSON object instead of a table.")
    var json = false

    @Flag(help: "Accept any certificate of the server.")
    var insecure = false

    func validate() throws {
        _ = try plan()
    }

    func run() throws {
        let plan = try plan()
        let report: FanoutReport
        do throws(BenchError) {
            try ConnectionBudget.check(subscribers: plan.subscriberCount)
            report = try FanoutLoop.report(on: plan)
        } catch {
            throw Refusal(error.description)
        }
        Standard.print(json ? String(decoding: report.json, as: UTF8.self) : report.table)
        if let fault = report.fault { throw Refusal(fault) }
    }

    /// Reads the options as a plan.
    ///
    /// - Throws: `ValidationError` for the first that makes no sense.
    private func plan() throws -> FanoutPlan {
        guard let target = BenchTarget(url: url) else {
            throw ValidationError("--url must be like ws://127.0.0.1:6001 or wss://host/prefix")
        }
        let name: ChannelName
        do throws(ChannelNameError) {
            name = try ChannelName(channel)
        } catch {
            throw ValidationError("--channel is not a channel's name: \(error)")
        }
        guard !name.kind.isPresence, name.kind != .serverToUser else {
            throw ValidationError("--channel must be public or private")
        }
        guard (1...1_000_000).contains(subscribers), (1...100_000_000).contains(messages) else {
            throw ValidationError("--subscribers and --messages must be at least 1")
        }
        guard (Marker.length...1 << 20).contains(size) else {
            throw ValidationError("--size must be at least \(Marker.length) bytes")
        }
        return FanoutPlan(
            target: target,
            key: key,
            secret: AppSecret(secret),
            appID: appId,
            channel: name,
            subscriberCount: subscribers,
            messageCount: messages,
            dataLength: size,
            pace: try pace(),
            serverID: try serverID(),
            isInsecure: insecure
        )
    }

    private func pace() throws -> Pace {
        switch (window, rate) {
        case (_?, _?): throw ValidationError("--window and --rate exclude each other")
        case (nil, let rate?):
            guard (0.001...1_000_000).contains(rate) else {
                throw ValidationError("--rate must be more than 0")
            }
            return .rate(rate)
        case (let window, nil):
            guard (1...1_000_000).contains(window ?? 8) else {
                throw ValidationError("--window must be at least 1")
            }
            return .window(window ?? 8)
        }
    }

    private func serverID() throws -> Int32? {
        guard let pid else { return nil }
        guard ServerProcess(id: pid) != nil else {
            throw ValidationError("--pid \(pid): there is no such process, or it may not be read")
        }
        return pid
    }
}
