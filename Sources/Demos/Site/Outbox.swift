import FanfareAPI
import FanfareStorage
package import GRDB
import HTTP1

/// An event to send to the broker.
package struct OutgoingEvent: Equatable, Sendable {
    /// The event's name.
    package let event: String
    /// The channel's name.
    package let channel: String
    /// The event's data, as JSON text.
    package let data: String

    /// Creates an event with JSON text as its data.
    package init(_ event: String, on channel: String, data: String) {
        self.event = event
        self.channel = channel
        self.data = data
    }
}

/// The events that wait for the broker, in the demos' database.
///
/// One transaction writes a change and its event: both or neither. The events are sent in the order of the
/// transactions, however long the broker is unreachable, and after a crash at the next start.
package final class Outbox: Sendable {
    private let database: DatabaseQueue
    private let store: SQLiteOutbox
    private let sender: BrokerOutbox

    /// Opens a database's outbox and sends its events; `report` gets a message for each event that is delayed or
    /// refused.
    package init(
        _ database: DatabaseQueue,
        trigger: any EventTrigger,
        report: @escaping @Sendable (String) -> Void
    ) throws {
        self.database = database
        store = try SQLiteOutbox(database)
        sender = BrokerOutbox(
            store: store,
            send: { event throws(FanfareAPIError) in try await trigger.send(event) },
            report: { report(Self.message($0)) }
        )
    }

    /// Adds an event in a transaction, after all earlier ones.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - database: The database, in the transaction of the change.
    /// - Throws: A ``RequestError`` when too many events wait, or a `DatabaseError` of GRDB. The transaction must then
    ///   end without the change.
    package func post(_ event: OutgoingEvent, in database: Database) throws {
        do {
            let event = try sender.event(event.event, on: event.channel, text: event.data)
            try store.append(event, in: database)
        } catch let full as OutboxFull {
            throw RequestError.refused(
                503,
                "The broker cannot be reached, and \(full.countMax) events wait for it: try again later."
            )
        }
    }

    /// Adds an event that reports no change of the database, after all earlier ones.
    package func post(_ event: OutgoingEvent) throws {
        try database.write { try post(event, in: $0) }
    }

    /// Sends the waiting events within a time limit and ends; unsent events are sent at the next start.
    package func close(within limit: Duration = .seconds(5)) async {
        await sender.close(within: limit)
    }

    private static func message(_ report: BrokerOutbox.Report) -> String {
        switch report {
        case .refused(let event, let error): "\(event.name) was not published: \(error)"
        case .delayed(let event, let error, let delay):
            "\(event.name) waits for the broker, next attempt in \(delay): \(error)"
        case .storeFailed(let error, let delay):
            "the outbox cannot be read or written, next attempt in \(delay): \(error)"
        }
    }
}
