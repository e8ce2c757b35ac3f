import Broker

@testable import Archive

/// A storage in memory whose transactions fail as a test says.
final class ScriptedStorage: ArchiveStorage {
    struct Failure: Error {}

    /// What happens to a transaction.
    enum Outcome {
        case succeeds
        /// Nothing is written.
        case fails
        /// An error, although everything is written.
        case isUnclear
    }

    var outcomes: [Outcome] = []
    /// Whether the file answers at all.
    var isReadable = true
    private(set) var written: [ArchiveChange] = []
    private(set) var sessions: [SessionChange] = []
    /// Whether sessions can be written.
    var keepsSessions = true
    private(set) var reverted: [ArchiveChange] = []
    private(set) var durableCount = 0
    private(set) var number: UInt64 = 0
    /// The length of the text of the one message that a query finds; 0 for no message.
    var textLength = 0
    private(set) var readCount = 0

    func lastTransaction() throws -> UInt64 {
        guard isReadable else { throw Failure() }
        return number
    }

    func perform(_ changes: [ArchiveChange], number: UInt64, isDurable: Bool) throws {
        let outcome = outcomes.isEmpty ? .succeeds : outcomes.removeFirst()
        guard outcome != .fails else { throw Failure() }
        precondition(number == self.number + 1)
        self.number = number
        written += changes
        if isDurable { durableCount += 1 }
        guard outcome == .succeeds else { throw Failure() }
    }

    func write(_ sessions: [SessionChange]) throws {
        guard keepsSessions else { throw Failure() }
        self.sessions += sessions
    }

    func revert(_ changes: [ArchiveChange]) throws { reverted += changes }

    func messages(_ query: ArchiveQuery) throws -> ArchivePage {
        readCount += 1
        let envelope = Envelope(text: [UInt8](repeating: 0, count: textLength))
        let message = StoredMessage(serial: 1, time: 0, except: nil, envelope: envelope)
        return ArchivePage(
            messages: textLength > 0 ? [message] : [],
            oldest: UInt64(written.count)
        )
    }

    func removeExpired(at now: Int64) throws -> Bool { false }

    /// The serials of written messages.
    var serials: [UInt64] { Self.serials(written) }

    static func serials(_ changes: [ArchiveChange]) -> [UInt64] {
        changes.compactMap {
            if case .message(_, let message, _) = $0 { message.serial } else { nil }
        }
    }
}
