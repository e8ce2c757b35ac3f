import ArgumentParser
import CommandSupport
import Net

/// `fanfare drain`: stops a running broker gracefully, and waits for its end.
struct Drain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stop a running broker: clients go first, evenly, and what is queued is sent.",
        discussion: """
            Tells a broker on this machine to stop as SIGTERM does, and waits until it is gone. \
            It accepts nobody from then on, closes its clients with the code that makes them connect \
            elsewhere at once (4200), answers the requests that are under way, and sends what is \
            queued. How fast and how long is its configuration's: shutdown.pace, shutdown.notice and \
            shutdown.deadline. To say it twice does no harm.

            Without --pid there must be one broker on this machine. The exit code is 1 when there is \
            none, or when it is still there after --wait.

            Examples:
              fanfare drain
              fanfare drain --pid 4711 --wait 300
              docker exec NAME fanfare drain --wait 0
            """
    )

    @Option(help: ArgumentHelp("The broker's process ID.", valueName: "number"))
    var pid: Int32?

    @Option(
        help: ArgumentHelp("How long to wait for its end; 0: not at all.", valueName: "seconds")
    )
    var wait = 60

    func validate() throws {
        if let pid, pid < 1 { throw ValidationError("--pid must be above 0, not \(pid)") }
        guard 0...86_400 ~= wait else {
            throw ValidationError("--wait must be 0 to 86400 seconds, not \(wait)")
        }
    }

    func run() throws {
        let broker = try BrokerProcess(id: pid ?? Self.choose(among: BrokerProcess.all()))
        let total = broker.openCount
        try broker.drain()
        guard wait > 0 else { return Console.print("Broker \(broker.id) is told to drain.") }
        let start = MonotonicTime.current
        var bar = ProgressBar()
        defer { bar.end() }
        while !broker.hasEnded(within: 100) {
            let now = MonotonicTime.current
            guard start.duration(to: now) < .seconds(wait) else {
                bar.end()
                throw CommandError(
                    "Broker \(broker.id) is still there after \(wait) s. Its configuration says how "
                        + "long it takes (shutdown.deadline); \"kill \(broker.id)\", twice, ends it at once"
                )
            }
            if let total, let left = broker.openCount {
                // The bar is full only when the process has ended.
                let closed = min(max(0, total - left), total - 1)
                bar.show("broker \(broker.id) drains", closed, of: total, at: now)
            }
        }
        bar.end()
        let tenths = start.duration(to: .current) / .milliseconds(100)
        Console.print("Broker \(broker.id) has stopped, after \(tenths.rounded() / 10) s.")
    }

    /// The only broker.
    ///
    /// - Throws: When there is none or more than one.
    static func choose(among ids: [Int32]) throws(CommandError) -> Int32 {
        guard let id = ids.first else {
            throw CommandError("No broker runs on this machine, or none that this user may see")
        }
        guard ids.count == 1 else {
            let list = ids.map { "\($0)" }.joined(separator: ", ")
            throw CommandError(
                "\(ids.count) brokers run here: name one of them, as --pid \(id) (\(list))"
            )
        }
        return id
    }
}
