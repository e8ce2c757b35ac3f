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
        let data: String
        do {
            data = String(decoding: try JSONEncoder().encode(change), as: UTF8.self)
        } catch {
            return report("\(change.event) cannot be written as JSON: \(error)")
        }
        // The last attempt is followed by no pause.
        for pause in pauses.map(Optional.some) + [nil] {
            do throws(EventFailure) {
                return try await trigger.send(change.event, data: data, on: TableChange.channel)
            } catch {
                // An event that came twice would mislead whoever counts rows by events.
                guard let pause, !error.mayHaveArrived else {
                    return report("\(change.event) did not reach the broker: \(error)")
                }
                try? await Task.sleep(for: pause)
            }
        }
    }
}
