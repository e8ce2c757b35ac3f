import LiveCollections
import LiveRows
import TestRandom

/// A row of the simulation.
package struct ScheduledRow: Identifiable, Equatable, Sendable, CustomStringConvertible {
    package var id: Int
    package var text: Int

    package var description: String { "\(id):\(text)" }
}

/// A deliberate mistake, which the simulation must detect.
package enum DeliberateMistake: String, CaseIterable, Sendable {
    /// Clients apply each change as if it were the next one.
    case ignoresGaps
    /// Changes are shown together with rows that are newer.
    case showsLaterRows
    /// A client does not fetch the rows after a reconnect.
    case staysAfterCuts
    /// A refused edit is not reverted.
    case keepsRefusedEdits
}

/// A simulation of one writer and some clients on a network that delays, drops, repeats and disconnects, from a seed.
///
/// Every update is checked by a table oracle. In the end the network works again, and all clients must have the
/// writer's rows.
package struct ListSchedule {
    /// A message in flight from a client to the writer, or back.
    enum Message: Sendable {
        case fetch(number: Int)
        case snapshot(number: Int, ListSnapshot<ScheduledRow>)
        case commit(ListCommit<ScheduledRow>, number: Int)
        case accepted(mutation: String, revision: UInt64)
        case refused(mutation: String)
        case lost(number: Int)
        case fetchFailed(number: Int)
        /// The timeout of an accepted edit's change.
        case changeIsDue
    }

    private var random: SeededRandom
    private let mistake: DeliberateMistake?
    private var writer: ListWriter<ScheduledRow>
    private var clients: [ScheduledClient]
    private var nextID: Int
    private var outsideEdits = 0

    /// The first failure.
    package private(set) var fault: String?

    /// Runs a schedule.
    ///
    /// - Parameters:
    ///   - seed: The seed, for reproducible schedules.
    ///   - mistake: A deliberate mistake.
    package init(seed: UInt64, mistake: DeliberateMistake? = nil) {
        random = SeededRandom(seed: seed)
        self.mistake = mistake
        // Long lists have several pieces; most schedules are short.
        let count = seed % 64 == 0 ? 300 : Int.random(in: 0...6, using: &random)
        let rows = (0..<count).map { ScheduledRow(id: $0, text: 0) }
        nextID = count
        do {
            writer = try ListWriter(rows, revision: seed % 3)
        } catch {
            fatalError("\(error)")
        }
        var options = ListOptions()
        options.bufferedChangesMax = [1, 2, 4096][Int(seed % 3)]
        options.pendingEditsMax = 4
        options.commitAttemptsMax = [nil, 1, 2][Int(seed / 3 % 3)]
        clients = (0..<Int.random(in: 1...3, using: &random)).map { number in
            ScheduledClient(name: "c\(number)", options: options, mistake: mistake)
        }
        run()
    }

    private mutating func run() {
        for index in clients.indices { clients[index].connect() }
        for _ in 0..<Int.random(in: 8...30, using: &random) where fault == nil { step() }
        deliverAll()
        for client in clients where fault == nil {
            fault = client.fault ?? client.difference(from: writer.snapshot)
        }
    }

    private mutating func step() {
        let index = Int.random(in: 0..<clients.count, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<26: edit(by: index)
        case 26..<54: clients[index].takeEvent()
        case 54..<76: advance(index, isFaulty: true)
        case 76..<82: clients[index].loseEvent()
        case 82..<87: clients[index].repeatEvent(&random)
        case 87..<92: clients[index].disconnect()
        case 92..<97: clients[index].connect()
        default: editOutside()
        }
        fault = fault ?? clients[index].fault
    }

    /// Delivers all messages.
    private mutating func deliverAll() {
        for index in clients.indices {
            clients[index].disconnect()
            clients[index].connect()
        }
        var rounds = 0
        while fault == nil, clients.contains(where: \.isBusy) {
            for index in clients.indices {
                while clients[index].hasEvents { clients[index].takeEvent() }
                if clients[index].hasMessages { advance(index, isFaulty: false) }
            }
            rounds += 1
            if rounds > 2000 { fault = "the clients do not become idle" }
        }
    }

    // MARK: Edits

    private mutating func edit(by index: Int) {
        let operations = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            operation(on: clients[index].rows)
        }
        clients[index].edit(operations)
    }

    private mutating func editOutside() {
        outsideEdits += 1
        let operations = [operation(on: writer.snapshot.rows)]
        commit(ListCommit(mutation: "outside \(outsideEdits)", operations: operations))
    }

    private mutating func operation(on rows: [ScheduledRow]) -> ListOperation<ScheduledRow> {
        let text = Int.random(in: 1..<1_000_000, using: &random)
        let known = rows.randomElement(using: &random)?.id ?? 0
        let anchor =
            Int.random(in: 0..<4, using: &random) == 0
            ? nil : rows.randomElement(using: &random)?.id
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
            nextID += 1
            return .put(ScheduledRow(id: nextID, text: text), after: anchor)
        case 2: return .put(ScheduledRow(id: known, text: text), after: anchor)
        case 3, 4: return .remove(known)
        case 5: return .update(ScheduledRow(id: known, text: text))
        default: return .move(known, after: anchor)
        }
    }

    // MARK: The writer

    /// Applies an edit and publishes it to the connected clients.
    @discardableResult
    private mutating func commit(_ commit: ListCommit<ScheduledRow>) -> UInt64 {
        guard let (revision, change) = try? writer.commit(commit) else { return 0 }
        if let change { for index in clients.indices { clients[index].send(change) } }
        return revision
    }

    /// Advances one of a client's messages by one step.
    private mutating func advance(_ index: Int, isFaulty: Bool) {
        guard let (position, message) = clients[index].nextMessage(&random) else { return }
        let luck = isFaulty ? Int.random(in: 0..<10, using: &random) : 9
        var answer: Message?
        switch message {
        case .fetch(let number):
            answer =
                luck == 0
                ? .fetchFailed(number: number) : .snapshot(number: number, writer.snapshot)
        case .commit(let commit, let number):
            // The request is lost, refused, or applied and its answer lost.
            switch luck {
            case 0: answer = .lost(number: number)
            case 1: answer = .refused(mutation: commit.mutation)
            case 2:
                self.commit(commit)
                answer = .lost(number: number)
            default:
                answer = .accepted(mutation: commit.mutation, revision: self.commit(commit))
            }
        default: break
        }
        clients[index].deliver(position, message, answer: answer)
    }
}
