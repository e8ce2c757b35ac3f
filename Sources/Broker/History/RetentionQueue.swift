import Primitives

/// The streams of one app and one `ageMax` that kept messages, by second, so that the oldest messages are found at
/// once.
struct RetentionQueue: Sendable {
    /// One app, and the time for which its messages are kept.
    struct Key: Hashable {
        let app: Int
        let ageMax: Int

        init(_ rule: SharedRule) {
            app = rule.app
            ageMax = rule.ring.ageMax
        }
    }

    /// The streams that kept a message within one second.
    struct Second: Sendable {
        let second: Int64
        var streams: [Int]
    }

    private var seconds = Queue<Second>()

    /// The oldest second; `nil` if there is none.
    var first: Second? { seconds.first }

    /// Records that a stream kept a message, its first within this second.
    mutating func append(_ stream: Int, second: Int64) {
        if seconds.last?.second == second {
            seconds[seconds.count - 1].streams.append(stream)
        } else {
            seconds.append(Second(second: second, streams: [stream]))
        }
    }

    /// Removes the oldest second.
    mutating func removeFirst() { seconds.removeFirst() }
}
