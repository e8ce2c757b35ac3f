import Foundation

/// An event that is to be told, as it will be sent.
package struct Announcement: Equatable, Sendable {
    /// The event's name.
    package let event: String
    /// The channel's name.
    package let channel: String
    /// The event's data, as JSON text.
    package let data: String
    /// Whether subscribers are not misled when it comes twice, as one that carries its revision.
    package let isRepeatable: Bool

    /// Describes an event.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - channel: The channel's name.
    ///   - data: The event's data, as JSON text.
    ///   - isRepeatable: Whether subscribers are not misled when it comes twice.
    package init(_ event: String, on channel: String, data: String, isRepeatable: Bool = false) {
        self.event = event
        self.channel = channel
        self.data = data
        self.isRepeatable = isRepeatable
    }
}

/// Tells the broker of changes, one after the other, in the order in which they were posted.
///
/// A change is in the database before it comes here. When the broker stays away the event is given up: pages
/// notice that they lost their connection, and read everything again when they have it back.
package final class Outbox: Sendable {
    /// The most events that wait for the broker; beyond it the oldest is given up.
    static let lengthMax = 1_000

    private let announcements: AsyncStream<Announcement>.Continuation
    private let delivery: Task<Void, Never>
    private let report: @Sendable (String) -> Void

    /// Begins to deliver.
    ///
    /// - Parameters:
    ///   - trigger: What tells the broker.
    ///   - pauses: How long to wait before each further attempt; as many attempts follow the first.
    ///   - report: Receives a sentence for each event that was given up.
    package init(
        trigger: any EventTrigger,
        pauses: [Duration] = [.milliseconds(200), .milliseconds(600), .seconds(2)],
        report: @escaping @Sendable (String) -> Void
    ) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Announcement.self,
            bufferingPolicy: .bufferingNewest(Self.lengthMax)
        )
        announcements = continuation
        self.report = report
        delivery = Task {
            for await announcement in stream {
                await Self.deliver(announcement, by: trigger, pauses: pauses, report: report)
            }
        }
    }

    deinit { announcements.finish() }

    /// Puts an event behind those that wait.
    package func post(_ announcement: Announcement) {
        if case .dropped(let oldest) = announcements.yield(announcement) {
            report("\(oldest.event) was given up: \(Self.lengthMax) events wait for the broker")
        }
    }

    /// Delivers what has been posted, and takes nothing more.
    package func close() async {
        announcements.finish()
        await delivery.value
    }

    private static func deliver(
        _ announcement: Announcement,
        by trigger: any EventTrigger,
        pauses: [Duration],
        report: @Sendable (String) -> Void
    ) async {
        let (event, data, channel) = (
            announcement.event, announcement.data, announcement.channel
        )
        // The last attempt is followed by no pause.
        for pause in pauses.map(Optional.some) + [nil] {
            do throws(EventFailure) {
                return try await trigger.send(event, data: data, on: channel)
            } catch {
                // An event that came twice would mislead whoever counts rows by events.
                let mayRepeat = announcement.isRepeatable || !error.mayHaveArrived
                guard let pause, mayRepeat else {
                    return report("\(event) did not reach the broker: \(error)")
                }
                try? await Task.sleep(for: pause)
            }
        }
    }
}
