import Foundation

/// Tells the broker of changes, one after the other, in the order in which they were posted.
///
/// A change is in the database before it comes here. When the broker stays away the event is given up: pages
/// notice that they lost their connection, and read the whole list again when they have it back.
final class Outbox: Sendable {
    /// The most changes that wait for the broker; beyond it the oldest is given up.
    static let lengthMax = 1_000

    private let changes: AsyncStream<TableChange>.Continuation
    private let delivery: Task<Void, Never>

    /// Begins to deliver.
    ///
    /// - Parameters:
    ///   - trigger: What tells the broker.
    ///   - pauses: How long to wait before each further attempt; as many attempts follow the first.
    ///   - report: Receives a sentence for each event that was given up.
    init(
        trigger: any EventTrigger,
        pauses: [Duration] = [.milliseconds(200), .milliseconds(600), .seconds(2)],
        report: @escaping @Sendable (String) -> Void
    ) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TableChange.self,
            bufferingPolicy: .bufferingNewest(Self.lengthMax)
        )
        changes = continuation
        delivery = Task {
            for await change in stream {
                await Self.deliver(change, by: trigger, pauses: pauses, report: report)
            }
        }
    }

    func post(_ change: TableChange) {
        changes.yield(change)
    }

    /// Delivers what has been posted, and takes nothing more.
    func close() async {
        changes.finish()
        await delivery.value
    }

    private static func deliver(
        _ change: TableChange,
        by trigger: any EventTrigger,
        pauses: [Duration],
        report: @Sendable (String) -> Void
    ) async {
        var attempt = 0
        while true {
            do {
                let data = String(decoding: try JSONEncoder().encode(change), as: UTF8.self)
                return try await trigger.trigger(
                    change.event,
                    data: data,
                    on: TableChange.channel
                )
            } catch {
                guard attempt < pauses.count else {
                    return report("\(change.event) did not reach the broker: \(error)")
                }
                try? await Task.sleep(for: pauses[attempt])
                attempt += 1
            }
        }
    }
}

/// What can send an event to every subscriber of a channel.
public protocol EventTrigger: Sendable {
    /// Sends one event.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - data: The event's data, as JSON text.
    ///   - channel: The channel's name.
    /// - Throws: Whatever kept the broker from taking the event.
    func trigger(_ event: String, data: String, on channel: String) async throws
}
