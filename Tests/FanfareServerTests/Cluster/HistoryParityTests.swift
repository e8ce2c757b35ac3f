import Testing

@testable import FanfareServer

@Suite("History at its edges: the same answers from memory, the file and a cluster")
struct HistoryParityTests {
    /// Queries of a channel with twelve messages.
    private static var queries: [[(String, String)]] {
        let serials = ["0", "1", "2", "11", "12", "13", "9007199254740991"]
        let times = ["0", "1", "9007199254740991"]
        var queries: [[(String, String)]] = [[]]
        for order in ["oldest", "newest"] {
            for limit in ["1", "2", "11", "12", "13", "1000"] {
                queries.append([("limit", limit), ("order", order)])
            }
            for serial in serials {
                queries.append([("after", serial), ("order", order)])
                queries.append([("before", serial), ("order", order)])
                for other in serials {
                    queries.append([("after", serial), ("before", other), ("order", order)])
                }
            }
            for time in times {
                queries.append([("order", order), ("since", time)])
                queries.append([("order", order), ("until", time)])
                for other in times {
                    queries.append([("order", order), ("since", time), ("until", other)])
                }
            }
        }
        for name in ["after", "before", "since", "until", "limit"] {
            for number in EdgeNumber.all + ["", "+1", "01", "x", "9007199254740993", "1001"] {
                queries.append([(name, number)])
            }
        }
        return queries
    }

    /// The answers to all queries, without what differs from run to run.
    private func answers(of keeping: Keeping) async throws -> [String] {
        var texts: [String] = []
        try await keeping.run { broker in
            for number in 1...10 {
                let answer = try await broker.trigger("e", "\(number)", on: "a")
                #expect(answer.status == 200)
            }
        } _: { broker in
            for number in 11...12 {
                let answer = try await broker.trigger("e", "\(number)", on: "a")
                #expect(answer.status == 200)
            }
            for query in Self.queries {
                let answer = try await broker.history("a", query)
                let body = answer.body
                    .replacing(/"stream":"[^"]+"/, with: #""stream":"S""#)
                    .replacing(/"time":\d+/, with: #""time":T"#)
                texts.append("\(query): \(answer.status) \(body)")
            }
        }
        return texts
    }

    @Test("Every edge of every parameter")
    func queries() async throws {
        let memory = try await answers(of: .memory)
        for keeping in [Keeping.file, .cluster] {
            let others = try await answers(of: keeping)
            for (expected, answer) in zip(memory, others) {
                #expect(answer == expected, "\(keeping)")
            }
        }
    }
}
