import Broker
import Logging
import TestRandom
import Testing

@testable import Webhooks

/// Webhooks with a clock that a test moves and endpoints that do what it says.
struct Stage {
    /// A log that nobody reads.
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

    /// Reports events, and lets the actor look at them.
    func report(_ events: ReportedEvent..., of app: AppID = appID) async {
        for event in events { webhooks.report(event, of: app) }
        await webhooks.dispatcher.turn()
    }

    /// Moves the clock, and lets the actor do what is due.
    func advance(by milliseconds: Int64) async {
        clock.advance(by: milliseconds)
        await webhooks.dispatcher.turn()
    }

    /// Waits until so many requests have been made, and checks that there are no more.
    func expectRequests(
        _ count: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually(sourceLocation: sourceLocation) { transport.requests.count >= count }
        #expect(transport.requests.count == count, sourceLocation: sourceLocation)
    }

    /// Waits until the counters are as a test expects them.
    func waitForCounters(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: (WebhookCounters) -> Bool
    ) async throws {
        try await eventually(sourceLocation: sourceLocation) { condition(webhooks.counters) }
    }

    func stop() async { await webhooks.stop(within: .zero) }
}
