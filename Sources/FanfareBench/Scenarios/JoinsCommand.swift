import ArgumentParser
import CommandSupport
import Net
import Primitives
import PusherProtocol

struct JoinsCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "joins",
        abstract: "Add thousands of users to one presence channel, and show the cost of a join.",
        discussion: """
            Each user has one connection. A new member must receive the list of all members, and \
            every other member one notice of the join; otherwise the exit code is 1. The work of a \
            join grows with the number of members: expect constant CPU time per join and member, \
            and constant memory per member. Each row covers one step, measured when all its \
            notices have arrived.

            The app's members_max must be at least --users.

            Examples:
              fanfare bench joins
              fanfare bench joins --users 2000 --step 500
              fanfare bench joins --users 5000 --within 60 --json result.json
            """
    )

    @OptionGroup var options: BenchOptions
    @Option(help: .count("Number of users.")) var users = 5_000

    @Option(help: .count("Number of joins per row; by default 1,000, or --users if that is lower."))
    var step: Int?

    @Option(help: .seconds("Duration of all joins; by default as fast as the server accepts them."))
    var within: Double?

    @Option(help: .name("Presence channel.")) var channel = "presence-fanfare-bench"

    func validate() throws {
        try checkValues()
        if let within { try check(within, "--within") }
    }

    /// The number of joins between two measurements.
    var joinsPerRow: Int { step ?? min(1_000, users) }

    /// Joins per second; nil for as many as the server accepts.
    var rate: Double? { within.map { Double(users) / $0 } }
    var connections: (count: Int, option: String) { (users, "--users") }

    func measure(with generator: LoadGenerator) throws(BenchError) -> Findings {
        let clients = JoinsClients(count: users, of: try .named(channel), generator)
        try generator.connect(clients)
        let pace: Pace = rate.map { .rate($0) } ?? .window(64)
        let schedule = Schedule(pace, messageCount: users)
        let first = JoinsSample(of: clients, generator)
        var samples = [first]
        let measured = try generator.measure { () throws(BenchError) in
            while clients.joinedCount < users {
                // A step starts when all members know each other, so that steps do not overlap.
                let count = min(clients.joinedCount + joinsPerRow, users)
                try generator.run { now in
                    generator.progress.show("Joining", clients.joinedCount, of: users, at: now)
                    if clients.startedCount == count, clients.isComplete { return .done }
                    let progress = clients.knownCount + clients.startedCount
                    if generator.isStalled(progress, at: now) { return .stalled }
                    let next = schedule.sendDue(
                        missing: clients.startedCount - clients.joinedCount,
                        while: clients.startedCount < count
                    ) { _ in clients.joinNext() }
                    if next != nil { generator.resetStallTimer(at: now) }
                    return .wait(until: next)
                }
                samples.append(JoinsSample(of: clients, generator))
            }
        }
        let time = first.time.duration(to: samples.last?.time ?? first.time)
        let fault = measured.stalled.map { stalled in
            let missing = "\(grouped(users - clients.joinedCount)) not subscribed"
            return "\(clients.fault ?? missing): no progress for \(stalled.inSeconds) s"
        }
        return Findings(fault: fault ?? clients.fault) {
            Row.count("members", "members", clients.joinedCount)
            Row.count("notices", "notices", clients.noticeCount)
            Row.rate("joins", "joins", clients.joinedCount, in: time)
            zip(samples.dropFirst(), samples).map { $0.row(since: $1) }
            Row.deflate(clients.ramp, of: generator.target)
        }
    }

    func headline(connectingTime: String) -> String {
        """
        \(grouped(users)) users join \(channel) (connected in \(connectingTime))\(perSecond(rate))
        """
    }

    var values: [Parameter] {
        [
            .channel(channel, isPresence: true), .count("users", users, "--users", max: 20_000),
            .count("step", joinsPerRow, "--step", max: users),
            .value("rate_per_s", .number(rate, places: 3)),
        ]
    }
}

/// The users of a presence channel, and the number of members that each of them knows.
final class JoinsClients: RampedClients {
    var ramp: ConnectionRamp
    /// Users that have sent their subscription.
    private(set) var startedCount = 0
    /// Users that have received the list of members.
    private(set) var joinedCount = 0
    /// The sum over all users of the members that each knows, from the list and from notices.
    private(set) var knownCount = 0
    private(set) var noticeCount = 0
    let generator: LoadGenerator

    private let count: Int
    private let channel: ChannelName
    private let run = UInt32.random(in: 0..<1 << 24)
    private var scanner: PresenceNoticeScanner
    private var users: [BenchClient] = []
    /// The members that each user knows, by the index of its client.
    private var known: [Int]

    init(count: Int, of channel: ChannelName, _ generator: LoadGenerator) {
        self.count = count
        self.channel = channel
        self.generator = generator
        ramp = ConnectionRamp(count: count)
        known = [Int](repeating: 0, count: count)
        scanner = PresenceNoticeScanner(run: run)
    }

    func joinNext() {
        let userID = EventMarker(run: run, sequence: UInt32(startedCount), sentAt: 0).text
        users[startedCount].subscribe(to: channel, as: userID)
        startedCount += 1
    }

    /// Whether all subscribed users know all subscribed users.
    var isComplete: Bool {
        joinedCount == startedCount && knownCount == startedCount * startedCount
    }

    var fault: String? {
        let missing = known.reduce(0) { $0 + max(0, count - $1) }
        let repeated = known.reduce(0) { $0 + max(0, $1 - count) }
        return joined([
            counted(missing, "member notices missing"),
            counted(repeated, "member notices repeated"),
        ])
    }

    func clientConnected(_ client: BenchClient) {
        users.append(client)
        ramp.markConnected(client)
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        joinedCount += 1
        add(client.memberCount, by: client)
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let notice = scanner.find(in: text), notice.isJoin else { return false }
        noticeCount += 1
        add(1, by: client)
        return true
    }

    private func add(_ members: Int, by client: BenchClient) {
        known[client.index] += members
        knownCount += members
    }
}

struct JoinsSample {
    let memberCount: Int
    let time = MonotonicTime.current
    let usage: ResourceUsage
    /// The server's memory in bytes, if it can be read.
    let memory: Int?

    init(of clients: JoinsClients, _ generator: LoadGenerator) {
        memberCount = clients.joinedCount
        usage = generator.resourceUsage()
        memory = generator.server?.memory()
    }

    /// The row of the step between two samples.
    func row(since before: JoinsSample) -> Row {
        let (joins, time) = (memberCount - before.memberCount, before.time.duration(to: time))
        let perJoin = (usage - before.usage).serverTime.map {
            Double($0) / 1e3 / Double(max(joins, 1))
        }
        // The average number of members that a join of this step found.
        let membersFound = max(1, Double(memberCount) - Double(joins + 1) / 2)
        let perMember = perJoin.map { $0 / membersFound }
        let name = "members_\(memberCount)"
        return Row(
            label: "to \(grouped(memberCount)) members",
            text: [
                seconds(time),
                perJoin.map { "\(decimal($0, places: 0)) µs of server CPU per join" },
                perMember.map { "\(decimal($0, places: 3)) per join and member" },
                memory.map(mebibytes),
            ].compactMap { $0 }.joined(separator: ", "),
            members: [
                ("\(name)_duration_s", .number(time.inSeconds, places: 6)),
                ("\(name)_server_cpu_us_per_join", .number(perJoin, places: 3)),
                ("\(name)_server_cpu_us_per_join_and_member", .number(perMember, places: 4)),
                ("\(name)_server_memory_bytes", memory.map { .integer($0) } ?? .null),
            ]
        )
    }
}
