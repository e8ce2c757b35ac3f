import CommandSupport
import Net
import Primitives

/// An idle benchmark from its first connection to the report; a step a turn of the loop.
///
/// At the end one event goes to all connections: each must still be there.
final class IdleRun: BenchRun {
    private let plan: IdlePlan
    private let generator: Generator
    private let audience: Subscribers
    private let publisher: Publisher
    private var phase = Phase.connecting
    private let beganAt = MonotonicTime.current
    private let memoryBefore: Int
    private let metersBefore: Meters
    private var costs = Costs()

    private enum Phase {
        case connecting
        /// The server may tidy up.
        case settling(until: MonotonicTime)
        case idling(since: MonotonicTime, before: Meters)
        /// One event shall reach everybody.
        case delivering(until: MonotonicTime?)
    }

    /// What was measured.
    private struct Costs {
        var connectingTime = Duration.zero
        var connecting = Meters()
        var memory = 0
        var idleTime = Duration.zero
        var idling = Meters()
    }

    /// How long the server may tidy up before its memory is read.
    private static let settling = Duration.seconds(1)

    /// A run that has yet to connect.
    ///
    /// - Parameters:
    ///   - plan: What to do.
    ///   - generator: The means.
    ///   - memoryBefore: The server's memory without the connections, in bytes.
    init(plan: IdlePlan, generator: Generator, memoryBefore: Int) {
        self.plan = plan
        self.generator = generator
        self.memoryBefore = memoryBefore
        metersBefore = generator.meters()
        audience = Subscribers(
            channels: [plan.channel],
            subscribersPerChannel: plan.connectionCount,
            generator: generator
        )
        publisher = Publisher(generator: generator)
    }

    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep {
        if let failure = publisher.failure ?? audience.failure { throw failure }
        switch phase {
        case .connecting:
            guard try audience.assemble(at: now) else { return .idle }
            costs.connectingTime = beganAt.duration(to: now)
            costs.connecting = generator.meters() - metersBefore
            phase = .settling(until: now.advanced(by: Self.settling))
        case .settling(let end):
            guard now >= end else { return .wait(from: now, until: end) }
            guard let server = generator.server, let memory = server.memory() else {
                throw .noServerProcess
            }
            costs.memory = memory
            phase = .idling(since: .current, before: generator.meters())
        case .idling(let since, let before):
            let end = since.advanced(by: plan.duration)
            let done = Int(since.duration(to: now) / .milliseconds(1))
            let all = max(1, Int(plan.duration / .milliseconds(1)))
            generator.progress.show("Idling (ms)", min(done, all), of: all, at: now)
            guard now >= end else { return .wait(from: now, until: end) }
            costs.idleTime = since.duration(to: now)
            costs.idling = generator.meters() - before
            generator.progress.end()
            generator.renewPatience(at: now)
            publisher.connect()
            phase = .delivering(until: nil)
        case .delivering(let end?):
            guard now < end else { return .finished(report(stalled: nil)) }
        case .delivering(nil):
            return deliver(at: now)
        }
        return .idle
    }

    private func deliver(at now: MonotonicTime) -> BenchStep {
        let tally = audience.tally
        if tally.sentCount == 0, publisher.canPublish {
            let data = audience.nextData(on: 0, length: Marker.length, due: now)
            publisher.publish(data, to: plan.channel)
        } else if tally.sentCount > 0, tally.missing == 0, publisher.unansweredCount == 0 {
            phase = .delivering(until: now.advanced(by: BenchStep.aftermath))
        }
        guard generator.isStalled(tally.deliveries, at: now) else { return .idle }
        return .finished(report(stalled: generator.subject.patience))
    }

    private func report(stalled: Duration?) -> BenchReport {
        BenchReport(
            benchmark: plan.benchmark,
            url: generator.subject.target.url,
            headline: plan.headline(connectingTime: costs.connectingTime),
            parameters: plan.parameters,
            rows: [
                costRows,
                BenchReport.Row.deflate(audience.admission, of: generator.subject),
                BenchReport.Row.cpu(
                    per: "connection",
                    plan.connectionCount,
                    costs.connecting,
                    of: generator.server
                ),
                BenchReport.Row.tally(audience.tally, of: "reached at the end", "deliveries"),
            ].flatMap { $0 },
            fault: audience.tally.fault(stalled: stalled)
        )
    }

    private var costRows: [BenchReport.Row] {
        let idle = costs.idling.serverTime.map { Double($0) / 1e6 / costs.idleTime.inSeconds }
        return [
            Self.growth(from: memoryBefore, to: costs.memory, of: plan.connectionCount),
            BenchReport.Row(
                label: "memory before, after",
                text: "\(grouped(memoryBefore / 1_024)), \(grouped(costs.memory / 1_024)) KiB",
                members: [
                    ("memory_before_bytes", .integer(memoryBefore)),
                    ("memory_after_bytes", .integer(costs.memory)),
                ]
            ),
            BenchReport.Row(
                label: "idle CPU",
                text: idle.map { "\(decimal($0, places: 3)) ms/s" } ?? "unknown",
                members: [("idle_cpu_ms_per_s", .number(idle, places: 4))]
            ),
            .time("connecting", "connecting", costs.connectingTime),
        ]
    }

    /// What each connection took; a server that has had as many before takes nothing for them.
    ///
    /// - Parameters:
    ///   - before: The server's memory without the connections, in bytes.
    ///   - after: The same with them.
    ///   - connectionCount: How many there are.
    /// - Returns: Bytes for each connection, or that there were none to measure.
    static func growth(
        from before: Int,
        to after: Int,
        of connectionCount: Int
    ) -> BenchReport.Row {
        let each = Double(after - before) / Double(connectionCount)
        return BenchReport.Row(
            label: "memory per connection",
            text: each > 0
                ? "\(decimal(each, places: 0)) bytes"
                : "none that the server had not kept from before: start it afresh",
            members: [("memory_bytes_per_connection", .number(each, places: 1))]
        )
    }
}
