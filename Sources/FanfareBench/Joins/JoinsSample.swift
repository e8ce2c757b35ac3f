import CommandSupport
import Net
import Primitives

/// The measurements at a number of members.
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
