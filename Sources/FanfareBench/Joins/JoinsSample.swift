import CommandSupport
import Net
import Primitives

/// What the usage say when a presence channel has so many members, or how far they went since it had fewer.
struct JoinsSample: Sendable {
    /// The members there are.
    var memberCount: Int
    /// The notices there were.
    var noticeCount: Int
    /// The time it took.
    var time: Duration
    /// The work it took.
    var usage: ResourceUsage
    /// The server's memory in bytes, if it can be read: always as it is at the end.
    var memory: Int?

    /// What happened since another sample; members and memory stay those of the end.
    func since(_ other: JoinsSample) -> JoinsSample {
        JoinsSample(
            memberCount: memberCount,
            noticeCount: noticeCount - other.noticeCount,
            time: time - other.time,
            usage: usage - other.usage,
            memory: memory
        )
    }

    /// The curve: a row a step.
    ///
    /// - Parameter samples: Each with what happened since the one before it.
    /// - Returns: The rows.
    static func rows(_ samples: [JoinsSample]) -> [BenchReport.Row] {
        var before = 0
        return samples.map { sample in
            defer { before = sample.memberCount }
            return sample.row(joins: sample.memberCount - before)
        }
    }

    private func row(joins: Int) -> BenchReport.Row {
        let perJoin = usage.serverTime.map { Double($0) / 1e3 / Double(max(joins, 1)) }
        // On the way from the last sample to this one a join found so many members on average.
        let membersMet = max(1, Double(memberCount) - Double(joins + 1) / 2)
        let perMember = perJoin.map { $0 / membersMet }
        let mebibytes = memory.map { decimal(Double($0) / 1_048_576, places: 1) + " MiB" }
        let name = "members_\(memberCount)"
        return BenchReport.Row(
            label: "to \(grouped(memberCount)) members",
            text: [
                seconds(time),
                perJoin.map { "\(decimal($0, places: 0)) µs of server CPU a join" },
                perMember.map { "\(decimal($0, places: 3)) a join and member" }, mebibytes,
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
