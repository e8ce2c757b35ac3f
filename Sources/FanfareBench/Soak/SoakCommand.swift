import ArgumentParser

/// `fanfare bench soak`: a mixed load over a long time.
struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Load a server in many ways for a long time, and check that nothing is left.",
        discussion: """
            Residents stay and receive events; visitors come for seconds and close, are reset, move \
            to another channel or read in sips; members join and leave before observers; talkers \
            send client events; slow readers do not read until the server must have closed them. \
            Everything that is received is checked: it must come once and in order. A client that \
            the server closes with a code of the protocol has left, and the report says how many \
            did with which code.

            When the warm-up is over, all leave but those who stay; the server's resident memory \
            and descriptors are noted then, and compared at the end. The exit code is 1 if anything \
            was lost, repeated or out of order, or if the server has kept more. It must run on this \
            machine, and its app needs client events.

            --backlog must be more than the server's limit of queued bytes and what the kernel \
            holds besides, about half a MiB.

            Examples:
              fanfare bench soak --seconds 1800 --json result.json
              fanfare bench soak --seconds 60 --warm-up 20 --residents 50
              fanfare bench soak --tls-url wss://127.0.0.1:6002 --insecure
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: ArgumentHelp("How long the load is on.", valueName: "seconds"))
    var seconds = 1_800.0

    @Option(
        help: ArgumentHelp("How long it is on before that, to warm up.", valueName: "seconds")
    )
    var warmUp = 60.0

    @Option(
        help: ArgumentHelp(
            """
            How long the server's descriptors must not have changed before they are noted: more \
            than its own connections to webhooks are kept, if it has any (30 s).
            """,
            valueName: "seconds"
        )
    )
    var settle = 6.0

    @Option(help: ArgumentHelp("How many subscribers stay.", valueName: "count"))
    var residents = 320

    @Option(help: ArgumentHelp("How many events to trigger a second.", valueName: "per second"))
    var rate = 200.0

    @Option(help: ArgumentHelp("The length of each event's data, in bytes.", valueName: "bytes"))
    var size = 512

    @Option(help: ArgumentHelp("How many visitors come a second.", valueName: "per second"))
    var visitors = 20.0

    @Option(help: ArgumentHelp("How many subscribers do not read.", valueName: "count"))
    var slow = 40

    @Option(
        help: ArgumentHelp("After how much data one of these reads again.", valueName: "MiB")
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
