/// The synchronisation of one open text with its backend: decides what to send, to fetch and to reapply.
///
/// A value without network or clock: the caller performs the requests and reports their outcome.
package struct TextSession: Sendable {
    /// A request to the backend.
    package enum Fetch: Equatable, Sendable {
        /// Load the text.
        case snapshot
        /// Load the entries after a serial.
        case entries(after: UInt64, epoch: UInt64)
    }

    /// The outcome of sending a batch.
    package enum Outcome: Sendable {
        /// The backend accepted it, now or before.
        case accepted
        /// The backend refused it.
        case refused(TextRefusal)
        /// There was no answer, so the batch is sent again.
        case unknown
    }

    /// The local text.
    package private(set) var document: TextDocument
    /// Whether the text has been loaded.
    package private(set) var isLoaded = false
    /// The serial up to which all entries of the log are known.
    package private(set) var serial: UInt64 = 0
    /// The local edits to send, including those of earlier sessions.
    private var queue: [TextBatch]
    /// The refused batch, until the text is loaded without it.
    private var refused: (batch: TextBatch, refusal: TextRefusal)?
    private var reverted: [RefusedEdits] = []

    /// The serial of the last entry known to exist.
    private var serialSeen: UInt64 = 0
    private var mayHaveMissed = false
    private var mustReload = false
    private var isSending = false
    /// The number of consecutive loaded texts that lack confirmed edits.
    private var outdatedCount = 0
    private static let outdatedMax = 3

    /// Creates a session with the unconfirmed edits of earlier sessions.
    package init(replica: ReplicaID, unsent: [TextBatch] = [], limits: TextLimits = TextLimits()) {
        document = TextDocument(replica: replica, limits: limits)
        queue = unsent
    }

    /// The local edits that the backend has not confirmed, including those of earlier sessions.
    ///
    /// A refused batch is included until it is reverted.
    package var unsent: [TextBatch] { (refused.map { [$0.batch] } ?? []) + queue }

    // MARK: Editing

    /// Edits a range of UTF-16 offsets and queues the operations; if it throws a ``TextError``, the text is unchanged.
    package mutating func replace(_ range: Range<Int>, with text: String) throws(TextError) {
        enqueue(try document.replace(range, with: text))
    }

    private mutating func enqueue(_ batch: TextBatch) {
        guard !batch.operations.isEmpty else { return }
        // The first batch does not change while it is being sent.
        let isOpen = queue.count > (isSending ? 1 : 0)
        if isOpen, let last = queue.last, last.replica == batch.replica, last.epoch == batch.epoch,
            last.nextNumber == batch.number
        {
            queue[queue.count - 1].append(batch)
        } else {
            queue.append(batch)
        }
    }

    // MARK: Sending

    /// Returns the next batch to send; `nil` until ``sent(_:outcome:)`` is called for the previous one.
    package mutating func nextBatch() -> TextBatch? {
        guard isLoaded, !mustReload, !isSending, let first = queue.first else { return nil }
        let parts = first.parts()
        queue.replaceSubrange(0..<1, with: parts)
        isSending = true
        return parts.first
    }

    /// Handles the outcome of sending a batch.
    package mutating func sent(_ batch: TextBatch, outcome: Outcome) {
        isSending = false
        switch outcome {
        case .accepted: acknowledge(through: batch.nextNumber - 1, of: batch.replica)
        case .unknown: break
        case .refused(.stale): mustReload = true
        case .refused(let refusal):
            // A batch that was reapplied meanwhile is sent, and refused, again.
            guard let index = queue.firstIndex(of: batch) else { return }
            if case .tooLarge = refusal, let halves = batch.halves {
                queue.replaceSubrange(index...index, with: halves)
            } else {
                queue.remove(at: index)
                refused = (batch, refusal)
                mustReload = true
            }
        }
    }

    /// Returns the refused edits that have been reverted since the last call.
    package mutating func takeRefusedEdits() -> [RefusedEdits] {
        defer { reverted = [] }
        return reverted
    }

    private mutating func acknowledge(through number: UInt64, of replica: ReplicaID) {
        queue = queue.compactMap { batch in
            guard batch.replica == replica else { return batch }
            let rest = batch.after(number)
            return rest.operations.isEmpty ? nil : rest
        }
    }

    // MARK: Receiving

    /// Records that events may have been missed; call it at the start and after each reconnection.
    package mutating func reconnected() { mayHaveMissed = true }

    /// Applies a log entry, in any order of arrival, and returns the changes of the text in order.
    package mutating func receive(_ entry: TextEntry) -> [TextSplice] {
        guard entry.serial > serial else { return [] }
        serialSeen = max(serialSeen, entry.serial)
        guard isLoaded else { return [] }
        guard case .batch(let batch) = entry.change, batch.epoch == document.epoch else {
            mustReload = true
            return []
        }
        var splices: [TextSplice] = []
        do throws(TextError) {
            try document.apply(batch, reporting: &splices)
            acknowledge(
                through: min(document.version[batch.replica, default: 0], batch.nextNumber - 1),
                of: batch.replica
            )
            if entry.serial == serial + 1 { serial = entry.serial }
        } catch {
            // Missing operations are recovered; after a malformed one the text must be reloaded.
            if case .malformed = error { mustReload = true }
        }
        return splices
    }

    /// The request to make, if any.
    package var fetch: Fetch? {
        if !isLoaded || mustReload { return .snapshot }
        guard mayHaveMissed || serialSeen > serial else { return nil }
        return .entries(after: serial, epoch: document.epoch)
    }

    /// Handles the response to a request, and returns the changes of the text in order.
    package mutating func fetched(_ recovery: TextRecovery) -> [TextSplice] {
        switch recovery {
        case .snapshot(let snapshot):
            guard !isOutdated(snapshot) else { return [] }
            let before = document.string
            rebase(onto: snapshot)
            isLoaded = true
            mustReload = false
            // Entries that arrived meanwhile were applied to the replaced text.
            mayHaveMissed = mayHaveMissed || serialSeen > snapshot.serial
            serial = snapshot.serial
            return TextSplice.from(before, to: document.string).map { [$0] } ?? []
        case .entries(let entries, let end):
            guard isLoaded, !mustReload else { return [] }
            mayHaveMissed = false
            serialSeen = end
            return entries.flatMap { receive($0) }
        }
    }

    /// Whether a loaded text lacks confirmed edits, because it is an old response.
    ///
    /// After `outdatedMax` such texts in a row the backend has lost data, and its text is used.
    private mutating func isOutdated(_ snapshot: TextSnapshot) -> Bool {
        let ownTaken = unsent.first { $0.replica == document.replica }?.number ?? lastNumber + 1
        let known = snapshot.version[document.replica, default: 0]
        let isOutdated =
            isLoaded && snapshot.epoch == document.epoch
            && (snapshot.serial < serial || known + 1 < ownTaken)
        outdatedCount = isOutdated ? outdatedCount + 1 : 0
        return isOutdated && outdatedCount < Self.outdatedMax
    }

    private var lastNumber: UInt64 { document.version[document.replica, default: 0] }

    // MARK: Reloading

    /// Replaces the text by a loaded one and keeps the local edits that it lacks.
    private mutating func rebase(onto snapshot: TextSnapshot) {
        queue = queue.compactMap { batch in
            let rest = batch.after(snapshot.version[batch.replica, default: 0])
            return rest.operations.isEmpty ? nil : rest
        }
        if let (batch, refusal) = refused {
            refused = nil
            return revert(batch, because: refusal, onto: snapshot)
        }
        var next = TextDocument(replica: document.replica, from: snapshot, limits: document.limits)
        // A batch in flight may still be accepted; reapplying it with new IDs would duplicate it.
        let keepsReplica = outdatedCount == 0
        if keepsReplica, queue.allSatisfy({ (try? next.apply($0)) != nil }), next.waitingCount == 0
        {
            document = next
            return
        }
        next = TextDocument(replica: .random(), from: snapshot, limits: document.limits)
        replay(queue, onto: next)
    }

    /// Replaces the text and keeps the local edits that do not depend on a refused batch.
    ///
    /// A new replica is used: the numbers of the old one now have a gap, and a repeated request with the refused batch
    /// may still be in flight.
    private mutating func revert(
        _ batch: TextBatch,
        because refusal: TextRefusal,
        onto snapshot: TextSnapshot
    ) {
        let next = TextDocument(replica: .random(), from: snapshot, limits: document.limits)
        let batch = batch.after(snapshot.version[batch.replica, default: 0])
        let (dependent, independent) = queue.split(dependingOn: batch)
        if !batch.operations.isEmpty {
            let batches = [batch] + dependent
            let edits = UnsentEdits(batches, from: document, onto: next)
            reverted.append(
                RefusedEdits(batches: batches, insertions: edits.insertions, refusal: refusal)
            )
        }
        replay(independent, onto: next)
    }

    /// Replaces the text and reapplies edits with new IDs.
    private mutating func replay(_ batches: [TextBatch], onto next: TextDocument) {
        let edits = UnsentEdits(batches, from: document, onto: next)
        queue = []
        document = next
        for edit in edits.replayed(on: &document) { enqueue(edit) }
    }
}
