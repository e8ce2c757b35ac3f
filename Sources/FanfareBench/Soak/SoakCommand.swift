import ArgumentParser

/// `fanfare bench soak`: a mixed load over a long time.
struct SoakCommand: ParsableCommand {
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

    @Option(help: ArgumentHelp("Duration of the load.", valueName: "seconds"))
    var seconds = 1_800.0

    @Option(
        help: ArgumentHelp("Duration of the warm-up before the load.", valueName: "seconds")
    )
    var warmUp = 60.0

    @Option(
        help: ArgumentHelp(
            """
            How long the server's descriptors must be stable before they are counted; use more \
            than 30 with webhooks, whose connections are kept for 30 s.
            """,
            valueName: "seconds"
        )
    )
    var settle = 6.0

    @Option(help: ArgumentHelp("Number of permanent subscribers.", valueName: "count"))
    var residents = 320

    @Option(help: ArgumentHelp("Events per second.", valueName: "per second"))
    var rate = 200.0

    @Option(help: ArgumentHelp("Length of each event's data.", valueName: "bytes"))
    var size = 512

    @Option(help: ArgumentHelp("Visitors per second.", valueName: "per second"))
    var visitors = 20.0

    @Option(help: ArgumentHelp("Number of slow readers.", valueName: "count"))
    var slow = 40

    @Option(
        help: ArgumentHelp("Data after which a slow reader resumes reading.", valueName: "MiB")
    )
    var backlog = 18

    @Option(
        help: ArgumentHelp("The same server's wss:// URL, for half of the load.", valueName: "url")
    )
    var tlsURL: String?

    func validate() throws {
        _ = try plan()
        try refuseDeflate(options)
    }

    func run() throws { try options.run(plan()) }

    /// Creates the plan from the options.
    ///
    /// - Throws: `ValidationError` for the first invalid option.
    func plan() throws -> SoakPlan {
        let week = 0.1...604_800
        let secureURL = try tlsURL.map { text in
            guard let url = ServerURL(text), url.isSecure else {
                throw ValidationError("--tls-url must be like wss://127.0.0.1:6002")
            }
            return url
        }
        return SoakPlan(
            duration: .seconds(try checked(seconds, "--seconds", in: week)),
            warmUp: .seconds(try checked(warmUp, "--warm-up", in: week)),
            settling: .seconds(try checked(settle, "--settle", in: week)),
            residentCount: try checked(residents, "--residents", max: 100_000),
            rate: try checked(rate, "--rate", in: sendableRates),
            dataLength: try checkedSize(size),
            visitorRate: try checked(visitors, "--visitors", in: 0.1...1_000),
            slowCount: try checked(slow, "--slow", max: 100_000),
            backlog: try checkedMiB(backlog, "--backlog"),
            secureURL: secureURL
        )
    }
}
