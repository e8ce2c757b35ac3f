import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer

/// Integers at which arithmetic or a conversion ends a process that does not expect them.
enum EdgeNumber {
    static let all = [
        "0", "1", "-1", "2147483647", "2147483648", "9007199254740991", "9007199254740992",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "18446744073709551615", "18446744073709551616", "0.5", "1e3", "1e19", "1e999",
    ]
}

/// Where a channel keeps its messages.
enum Keeping: CaseIterable {
    case memory, file, cluster

    /// Runs a broker that keeps the messages of all channels there, and little of them in its memory.
    ///
    /// - Parameters:
    ///   - change: Further changes to the configuration.
    ///   - first: What happens before a restart with the file, and on another node of a cluster.
    ///   - body: The test.
    /// - Throws: The error of the test, or of a start.
    func run(
        _ change: @escaping (inout Configuration) -> Void = { _ in },
        first: (TestBroker) async throws -> Void,
        _ body: (TestBroker) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        func configure(_ configuration: inout Configuration) {
            var rule = RecoveryRuleConfiguration()
            rule.settings.keep = .always
            rule.settings.allowsRewind = true
            if self == .file {
                configuration.recovery.database = folder.path("history.sqlite")
                rule.settings.store = .archive
            }
            configuration.apps[0].recoveryRules = [rule]
            change(&configuration)
        }
        switch self {
        case .memory:
            try await TestBroker.run(configure) {
                try await first($0)
                try await body($0)
            }
        case .file:
            try await TestBroker.run(configure, first)
            try await TestBroker.run(configure, body)
        case .cluster:
            try await TestCluster.run(nodes: 2, configure) {
                try await first($0.nodes[0])
                try await body($0.nodes[1])
            }
        }
        withExtendedLifetime(folder) {}
    }
}

extension TestBroker {
    /// Publishes one event for each number, with the number as its data.
    func publish(_ numbers: ClosedRange<Int>, on channel: String) async throws {
        for number in numbers {
            #expect(try await trigger("e", "\(number)", on: channel).status == 200)
        }
    }
}

extension HostileTests {
    @Suite("Integers at their edges") struct EdgeNumberTests {
        private static let members = [
            #""position":{},"rewind":{"seconds":N}"#, #""position":{},"rewind":{"count":N}"#,
            #""position":{"stream":"S","serial":N}"#, #""position":{"stream":"N","serial":1}"#,
            #""position":{"stream":"S","serial":1,"socket":"N.N"}"#,
        ]

        @Test("A subscription's numbers are answered", arguments: Keeping.allCases)
        func subscriptions(keeping: Keeping) async throws {
            try await keeping.run { broker in
                try await broker.publish(1...3, on: "a")
            } _: { broker in
                let stream = try await TrackingWire(broker, "a").position.stream.text
                for number in EdgeNumber.all {
                    for member in Self.members {
                        let (client, _) = try await broker.connected()
                        let member = member.replacing("N", with: number).replacing(
                            "S",
                            with: stream
                        )
                        try client.send(
                            #"{"event":"pusher:subscribe","data":{"channel":"a",\#(member)}}"#
                        )
                        let answer = try await client.nextText()
                        #expect(
                            answer.contains("subscription_succeeded") || answer.contains("error"),
                            "\(member): \(answer)"
                        )
                    }
                }
            }
        }

        @Test(
            "A rewind over more time than has passed is one over all messages",
            arguments: Keeping.allCases
        )
        func longestRewind(keeping: Keeping) async throws {
            try await keeping.run { broker in
                try await broker.publish(1...3, on: "a")
            } _: { broker in
                let members = #","rewind":{"seconds":9007199254740991}"#
                let device = try await TrackingWire(broker, "a", members: members)
                #expect(try await device.next(3) == ["1", "2", "3"])
            }
        }
    }
}
