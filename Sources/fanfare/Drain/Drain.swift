import ArgumentParser
import CommandSupport
import Net

/// `fanfare drain`: stops a running broker gracefully, and waits for its end.
struct Drain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stop a running broker gracefully.",
        discussion: """
            Stops a broker on this machine as SIGTERM does, and waits for its end. The broker \
            accepts no more connections, closes its clients at an even rate with code 4200, which \
            makes them reconnect at once, answers pending requests, and sends what is queued. The \
            broker's configuration sets the rate and the time: shutdown.pace, shutdown.notice and \
            shutdown.deadline. The command may be repeated.

            Without --pid there must be one broker on this machine. The exit code is 1 if there is \
            none, or if it still runs after --wait.

            Examples:
              fanfare drain
              fanfare drain --pid 4711 --wait 300
              docker exec NAME fanfare drain --wait 0
            """
    )

    @Option(help: ArgumentHelp("The broker's process ID.", valueName: "number"))
    var pid: Int32?

    @Option(
        help: ArgumentHelp(
            "How long to wait for its end; 0 to return at once.",
            valueName: "seconds"
        )
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
        let total = broker.descriptorCount
        try broker.drain()
        guard wait > 0 else { return Console.print("Broker \(broker.id) is draining.") }
        let start = MonotonicTime.current
        var bar = ProgressBar()
        defer { bar.end() }
        while !broker.hasEnded(within: 100) {
            let now = MonotonicTime.current
            guard start.duration(to: now) < .seconds(wait) else {
                bar.end()
                throw CommandError(
                    "Broker \(broker.id) still runs after \(wait) s: shutdown.deadline in its "
                        + "configuration sets the limit. Run \"kill \(broker.id)\" twice to end it at once"
                )
            }
            if let total, let left = broker.descriptorCount {
                // The bar is full only when the process has ended.
                let closed = min(max(0, total - left), total - 1)
                bar.show("Draining broker \(broker.id)", closed, of: total, at: now)
            }
        }
        bar.end()
        let tenths = start.duration(to: .current) / .milliseconds(100)
        Console.print("Broker \(broker.id) stopped after \(tenths.rounded() / 10) s.")
    }

    /// The only broker.
    ///
    /// - Throws: When there is none or more than one.
    static func choose(among ids: [Int32]) throws(CommandError) -> Int32 {
        guard let id = ids.first else {
            throw CommandError("No broker runs on this machine, or none is visible to this user")
        }
        guard ids.count == 1 else {
            let list = ids.map { "\($0)" }.joined(separator: ", ")
            throw CommandError(
                "\(ids.count) brokers run here: choose one with --pid, such as --pid \(id) (\(list))"
            )
        }
        return id
    }
}
