import BrokerConfiguration
import FanfareServer
import Foundation
import Net
import PusherProtocol
import Testing

@testable import FanfareBench

extension FanoutCommand {
    /// Five subscribers of one channel.
    static func small(
        _ channel: String = "news",
        pace: Pace = .window(1),
        _ options: [String] = []
    ) throws -> Self {
        let paceOption =
            switch pace {
            case .window(let count): ["--window", "\(count)"]
            case .rate(let rate): ["--rate", "\(rate)"]
            }
        var scenario = try with(["--messages", "20", "--channel", channel] + paceOption + options)
        if !options.contains("--subscribers") { scenario.subscribers = 5 }
        return scenario
    }
}

extension ChannelsCommand {
    /// Four channels of three subscribers each.
    static func small() throws -> Self {
        try with([
            "--channels", "4", "--subscribers", "3", "--messages", "20", "--channel", "news",
        ])
    }
}

extension BrokerServer {
    /// Runs a scenario against our broker.
    ///
    /// - Parameters:
    ///   - scenario: The scenario.
    ///   - configuration: The broker's; it listens at any port, with two loops.
    ///   - change: Changes the target.
    /// - Returns: The report.
    /// - Throws: The error that ended the run.
    static func report(
        on scenario: any Scenario,
        _ configuration: Configuration = .development,
        _ change: (inout TargetServer) -> Void = { $0.stallTimeout = .seconds(10) }
    ) async throws -> BenchReport {
        var configuration = configuration
        configuration.port = 0
        configuration.loops = 2
        let server = try BrokerServer(configuration: configuration)
        let port = try #require(try await server.start().plain?.port)
        var target = try TargetServer(url: "ws://127.0.0.1:\(port)")
        change(&target)
        let result = await target.result(of: scenario)
        await server.stop(within: .seconds(1))
        return try result.get()
    }
}

extension TargetServer {
    /// A server with a short stall timeout.
    init(url: String) throws {
        self.init(
            url: try #require(ServerURL(webSocketURL: url)),
            key: "app-key",
            secret: AppSecret("app-secret"),
            appID: "1",
            yieldsToServer: false,
            stallTimeout: .seconds(3)
        )
    }

    /// Runs a benchmark against a faulty server.
    static func report(
        on scenario: any Scenario,
        _ fault: BrokerFault,
        scheme: String = "ws",
        trust: TLSTrust = .system,
        deflate: Bool = false,
        stallTimeout: Duration = .seconds(3)
    ) async throws -> BenchReport {
        let broker = try FaultyBroker.start(fault, isSecure: scheme == "wss")
        var target = try TargetServer(url: "\(scheme)://127.0.0.1:\(broker.port)")
        target.trust = trust
        target.offersDeflate = deflate
        target.stallTimeout = stallTimeout
        let result = await target.result(of: scenario)
        await broker.stop()
        return try result.get()
    }

    /// Runs a benchmark on a separate thread, which it blocks.
    func result(of scenario: any Scenario) async -> Result<BenchReport, any Error> {
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                done.resume(returning: Result { try BenchLoop.report(on: scenario, of: self) })
            }
        }
    }
}

extension BenchReport {
    /// The value of a JSON member.
    subscript(name: String) -> Value? {
        rows.flatMap(\.members).first { $0.name == name }?.value
    }

    /// The value of a JSON member that must be an integer.
    func integer(_ name: String) throws -> Int {
        guard case .integer(let number) = self[name] else { throw MissingMember(name: name) }
        return number
    }

    /// The value of a JSON member that must be a number.
    func number(_ name: String) throws -> Double {
        guard case .number(let number?, _) = self[name] else { throw MissingMember(name: name) }
        return number
    }

    /// The value of a JSON member that must be a latency.
    func latency(_ name: String) throws -> LatencyFigures {
        guard case .latency(let figures) = self[name] else { throw MissingMember(name: name) }
        return figures
    }
}

/// A report lacks a JSON member, or its value is of another kind.
struct MissingMember: Error {
    var name: String
}
