import Foundation
import Net
import PusherProtocol
import Testing

@testable import FanfareBench

extension DeliveryPlan {
    /// Five subscribers of one channel.
    static func small(
        _ channel: String = "news",
        pace: Pace = .window(1)
    ) throws -> DeliveryPlan {
        DeliveryPlan(
            benchmark: "fanout",
            channels: [try ChannelName(channel)],
            subscribersPerChannel: 5,
            messageCount: 20,
            dataLength: 64,
            pace: pace
        )
    }

    /// Four channels of three subscribers each.
    static func channels() throws -> DeliveryPlan {
        DeliveryPlan(
            benchmark: "channels",
            channels: try (0..<4).map { try ChannelName("news-\($0)") },
            subscribersPerChannel: 3,
            messageCount: 20,
            dataLength: 64,
            pace: .window(8)
        )
    }
}

extension TargetServer {
    /// A server with a short stall timeout.
    init(url: String) throws {
        self.init(
            url: try #require(ServerURL(url)),
            key: "app-key",
            secret: AppSecret("app-secret"),
            appID: "1",
            stallTimeout: .seconds(3)
        )
    }

    /// Runs a benchmark against a faulty server.
    static func report(
        on plan: any BenchPlan,
        _ fault: BrokerFault,
        scheme: String = "ws",
        trust: TLSTrust = .system,
        deflate: Bool = false
    ) async throws -> BenchReport {
        let broker = try FaultyBroker.start(fault, isSecure: scheme == "wss")
        var target = try TargetServer(url: "\(scheme)://127.0.0.1:\(broker.port)")
        target.trust = trust
        target.offersDeflate = deflate
        let result = await target.result(of: plan)
        await broker.stop()
        return try result.get()
    }

    /// Runs a benchmark on a separate thread, which it blocks.
    func result(of plan: any BenchPlan) async -> Result<BenchReport, any Error> {
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                done.resume(returning: Result { try BenchLoop.report(on: plan, of: self) })
            }
        }
    }
}

extension BenchReport {
    /// The value of a JSON member.
    subscript(name: String) -> Value? {
        rows.flatMap(\.members).first { $0.name == name }?.value
    }
}
