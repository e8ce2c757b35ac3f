import FanfareTesting
import LiveCollections
import LiveRows
import TestRandom

/// A client of a schedule: the tested replica, a table that shows it, and the messages in flight.
struct ScheduledClient {
    let name: String
    private let mistake: DeliberateMistake?
    private var replica: ListReplica<ScheduledRow>
    private var table = TableOracle<ScheduledRow>(rows: [])
    private var isConnected = false
    /// The events that the client has not handled, in order.
    private var events: [ListChange<ScheduledRow>] = []
    /// The handled events, to be repeated.
    private var taken: [ListChange<ScheduledRow>] = []
    private var messages: [ListSchedule.Message] = []
    private var editCount = 0
    /// The edits that are neither confirmed nor refused.
    private var open: Set<String> = []
    private(set) var fault: String?

    init(name: String, options: ListOptions, mistake: DeliberateMistake?) {
        self.name = name
        self.mistake = mistake
        replica = ListReplica(options: options)
        replica.began()
    }

    var rows: [ScheduledRow] { Array(replica.rows) }
    var hasEvents: Bool { !events.isEmpty }
    var hasMessages: Bool { !messages.isEmpty }
    var isBusy: Bool { hasEvents || hasMessages }

    // MARK: The channel

    mutating func connect() {
        guard !isConnected else { return }
        isConnected = true
        if mistake == .staysAfterCuts, replica.revision != nil { return }
        perform(replica.subscribed())
    }

    mutating func disconnect() {
        isConnected = false
        events = []
        replica.disconnected(Trouble.network)
    }

    mutating func send(_ change: ListChange<ScheduledRow>) {
        if isConnected { events.append(change) }
    }

    mutating func takeEvent() {
        guard hasEvents else { return }
        let change = events.removeFirst()
        taken.append(change)
        take(change)
    }

    mutating func loseEvent() { if hasEvents { events.removeFirst() } }

    mutating func repeatEvent(_ random: inout SeededRandom) {
        if let change = taken.randomElement(using: &random) { take(change) }
    }

    private mutating func take(_ change: ListChange<ScheduledRow>) {
        var change = change
        if mistake == .ignoresGaps, let revision = replica.revision {
            change.revision = revision + 1
        }
        perform(replica.changed(change))
    }

    // MARK: Messages

    /// Returns a random message in flight: they are unordered.
    func nextMessage(_ random: inout SeededRandom) -> (index: Int, ListSchedule.Message)? {
        messages.indices.randomElement(using: &random).map { ($0, messages[$0]) }
    }

    /// Handles the arrival of a message, at the writer with an answer or at the client.
    mutating func deliver(
        _ index: Int,
        _ message: ListSchedule.Message,
        answer: ListSchedule.Message?
    ) {
        messages.remove(at: index)
        if let answer {
            messages.append(answer)
            return
        }
        switch message {
        case .snapshot(let number, let snapshot): perform(replica.fetched(number, snapshot))
        case .fetchFailed(let number): perform(replica.fetchFailed(number, Trouble.network))
        case .accepted(let mutation, let revision):
            perform(replica.accepted(mutation, revision: revision))
        case .refused(let mutation):
            if mistake != .keepsRefusedEdits {
                perform(replica.refused(mutation, Trouble.refusal))
            }
        case .lost(let number): perform(replica.unanswered(number, Trouble.network))
        case .changeIsDue: perform(replica.changeIsDue())
        case .fetch, .commit: break
        }
    }

    mutating func edit(_ operations: [ListOperation<ScheduledRow>]) {
        editCount += 1
        let mutation = "\(name) \(editCount)"
        let before = replica.pendingCount
        var editor = replica.editor()
        for operation in operations { editor.apply(operation) }
        let effects = replica.commit(editor, mutation: mutation)
        let isRefused = effects.contains { if case .refused = $0 { true } else { false } }
        if replica.pendingCount > before || isRefused { open.insert(mutation) }
        perform(effects)
    }

    private mutating func perform(_ effects: [ListReplica<ScheduledRow>.Effect]) {
        for effect in effects {
            switch effect {
            case .fetch(let number, _): messages.append(.fetch(number: number))
            case .send(let commit, let number, _):
                messages.append(.commit(commit, number: number))
            case .confirmed(let mutation): close(mutation)
            case .refused(let commit, _): close(commit.mutation)
            case .awaitChange: messages.append(.changeIsDue)
            case .retrying, .rest, .check, .report: break
            }
        }
        show()
    }

    private mutating func close(_ mutation: String) {
        if open.remove(mutation) == nil { fault = "\(mutation) was confirmed or refused twice" }
    }

    /// Shows the changes in the table, which checks the rules.
    private mutating func show() {
        let changes = replica.takeChanges()
        var rows = Array(replica.rows)
        if mistake == .showsLaterRows, !changes.isEmpty, rows.count > 1 { rows.removeLast() }
        do {
            try table.apply(changes, rows: rows)
        } catch {
            fault = fault ?? "\(name): \(error)"
        }
    }

    // MARK: The end

    /// Returns the first difference between the client and the writer.
    func difference(from snapshot: ListSnapshot<ScheduledRow>) -> String? {
        if rows != snapshot.rows { return "\(name) has \(rows), the writer \(snapshot.rows)" }
        if table.cells != snapshot.rows { return "\(name)'s table shows \(table.cells)" }
        if replica.revision != snapshot.revision { return "\(name) is at another revision" }
        if !replica.state.isLive { return "\(name) is not live: \(replica.state)" }
        if replica.pendingCount > 0 { return "\(name) waits for \(replica.pendingCount) edits" }
        return open.isEmpty ? nil : "\(name) received no result of \(open)"
    }
}

enum Trouble: Error {
    case network
    case refusal
}
