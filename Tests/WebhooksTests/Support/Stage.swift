import Broker
import Logging
import TestRandom
import Testing

@testable import Webhooks

/// Webhooks with a manual clock and scripted endpoints.
struct Stage {
    /// A log that drops its records.
    static let silence = Logger(label: "webhooks", factory: { _ in SwiftLogNoOpLogHandler() })

    let clock: ManualClock
    let transport: ScriptedTransport
    let webhooks: Webhooks

    init(
        settings: WebhookSettings = WebhookSettings(),
        apps: [WebhookApp],
        clock: ManualClock = ManualClock(),
        transport: ScriptedTransport = ScriptedTransport(),
        log: Logger = Self.silence
    ) async throws {
        self.clock = clock
        self.transport = transport
        webhooks = Webhooks(
            settings: settings,
            apps: apps,
            log: log,
            clock: clock,
            random: SeededRandom(seed: 1),
            transport: transport
        )
        try await webhooks.start()
    }

    /// Reports events, and runs a turn.
    func report(_ events: ReportedEvent..., of app: AppID = appID) async {
        for event in events { webhooks.report(event, of: app) }
        await webhooks.dispatcher.turn()
    }

    /// Advances the clock, and runs a turn.
    func advance(by milliseconds: Int64) async {
        clock.advance(by: milliseconds)
        await webhooks.dispatcher.turn()
    }

    /// Waits for a number of requests, and checks that there are no more.
    func expectRequests(
        _ count: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually(sourceLocation: sourceLocation) { transport.requests.count >= count }
        #expect(transport.requests.count == count, sourceLocation: sourceLocation)
    }

    /// Waits until the counters meet a condition.
    func waitForCounters(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: (WebhookCounters) -> Bool
    ) async throws {
        try await eventually(sourceLocation: sourceLocation) { condition(webhooks.counters) }
    }

    func stop() async { await webhooks.stop(within: .zero) }
}
