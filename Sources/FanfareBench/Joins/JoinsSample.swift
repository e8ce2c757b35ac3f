import CommandSupport
import Net
import Primitives

/// The measurements at a number of members, or the difference between two such samples.
struct JoinsSample: Sendable {
    /// The number of members.
    var memberCount: Int
    /// The number of notices.
    var noticeCount: Int
    /// The elapsed time.
    var time: Duration
    /// The CPU time and traffic.
    var usage: ResourceUsage
    /// The server's memory in bytes, if it can be read; in a difference, that of the later sample.
    var memory: Int?

    /// The difference from an earlier sample; members and memory are those of the later one.
    func since(_ other: JoinsSample) -> JoinsSample {
        JoinsSample(
            memberCount: memberCount,
            noticeCount: noticeCount - other.noticeCount,
            time: time - other.time,
            usage: usage - other.usage,
            memory: memory
        )
    }

    /// One row per step, from the differences of each sample from the one before it.
    static func rows(_ samples: [JoinsSample]) -> [Row] {
        var before = 0
        return samples.map { sample in
            defer { before = sample.memberCount }
            return sample.row(joins: sample.memberCount - before)
        }
    }

    private func row(joins: Int) -> Row {
        let perJoin = usage.serverTime.map { Double($0) / 1e3 / Double(max(joins, 1)) }
        // The average number of members that a join of this step found.
        let membersFound = max(1, Double(memberCount) - Double(joins + 1) / 2)
        let perMember = perJoin.map { $0 / membersFound }
        let mebibytes = memory.map { decimal(Double($0) / 1_048_576, places: 1) + " MiB" }
        let name = "members_\(memberCount)"
        return Row(
            label: "to \(grouped(memberCount)) members",
            text: [
                seconds(time),
                perJoin.map { "\(decimal($0, places: 0)) µs of server CPU per join" },
                perMember.map { "\(decimal($0, places: 3)) per join and member" }, mebibytes,
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
