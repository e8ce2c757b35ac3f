/// One open text in touch with whoever orders its operations: what to send, what was missed, what to ask for.
///
/// A value without network or time: the shell asks what is to be done, does it, and tells how it went.
package struct TextSession: Sendable {
    /// What has to be asked for.
    package enum Fetch: Equatable, Sendable {
        /// The text.
        case snapshot
        /// What followed an entry of the log.
        case entries(after: UInt64, epoch: UInt64)
    }

    /// How the sending of a batch went.
    package enum Outcome: Sendable {
        /// It was taken, now or before.
        case taken
        /// It was refused.
        case refused(TextRefusal)
        /// Nobody knows whether it arrived: it is sent again.
        case unknown
    }

    /// The text as it is here.
    package private(set) var document: TextDocument
    /// Whether the text has been loaded.
    package private(set) var isLoaded = false
    /// The last entry of the log that is known with all before it.
    package private(set) var serial: UInt64 = 0
    /// What was edited here, or by a former session on its behalf, and is not known to be taken.
    package private(set) var unsent: [TextBatch]

    /// The last entry that is known to exist.
    private var serialSeen: UInt64 = 0
    private var mayHaveMissed = false
    private var mustReload = false
    private var isSending = false
    /// How many texts were loaded in a row that lack what was taken.
    private var outdatedCount = 0
    private static let outdatedMax = 3

    /// Opens a text.
    ///
    /// - Parameters:
    ///   - replica: Who edits here.
    ///   - unsent: What former sessions of this device edited and did not get rid of.
    ///   - limits: What the text may take.
    package init(replica: ReplicaID, unsent: [TextBatch] = [], limits: TextLimits = TextLimits()) {
        document = TextDocument(replica: replica, limits: limits)
        self.unsent = unsent
    }

    // MARK: Editing

    /// Edits the text here, and notes what the others have to be told.
    ///
    /// - Parameters:
    ///   - range: What to replace, in UTF-16 offsets.
    ///   - text: What takes its place.
    /// - Throws: ``TextError`` about the range or the length; then nothing has changed.
    package mutating func replace(_ range: Range<Int>, with text: String) throws(TextError) {
        note(try document.replace(range, with: text))
    }

    private mutating func note(_ batch: TextBatch) {
        guard !batch.operations.isEmpty else { return }
        // The first is left alone while it is on its way.
        let isOpen = unsent.count > (isSending ? 1 : 0)
        if isOpen, let last = unsent.last, last.replica == batch.replica, last.epoch == batch.epoch,
            last.nextNumber == batch.number
        {
            unsent[unsent.count - 1].append(batch)
        } else {
            unsent.append(batch)
        }
    }

    // MARK: Sending

    /// The next batch to send; one at a time, until ``sent(_:outcome:)``.
    package mutating func nextBatch() -> TextBatch? {
        guard isLoaded, !mustReload, !isSending, let first = unsent.first else { return nil }
        let parts = first.parts()
        unsent.replaceSubrange(0..<1, with: parts)
        isSending = true
        return parts.first
    }

    /// Takes note of how it went.
    ///
    /// - Parameters:
    ///   - batch: What was sent.
    ///   - outcome: How it went.
    /// - Returns: Why edits made here are taken back, if they are.
    package mutating func sent(_ batch: TextBatch, outcome: Outcome) -> String? {
        isSending = false
        switch outcome {
        case .taken:
            forget(through: batch.nextNumber - 1, of: batch.replica)
        case .unknown:
            break
        case .refused(.stale):
            mustReload = true
        case .refused(.invalid(let reason)):
            // What follows builds upon it.
            unsent = []
            mustReload = true
            return reason
        }
        return nil
    }

    private mutating func forget(through number: UInt64, of replica: ReplicaID) {
        unsent = unsent.compactMap { batch in
            guard batch.replica == replica else { return batch }
            let rest = batch.after(number)
            return rest.operations.isEmpty ? nil : rest
        }
    }

    // MARK: Receiving

    /// Events may have been missed until now: at the start, and after each reconnect.
    package mutating func reconnected() { mayHaveMissed = true }

    /// Takes in an entry of the log, in whatever order they come.
    ///
    /// - Returns: What has changed, splice after splice.
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
            try document.apply(batch, telling: &splices)
            forget(
                through: min(document.version[batch.replica, default: 0], batch.nextNumber - 1),
                of: batch.replica
            )
            if entry.serial == serial + 1 { serial = entry.serial }
        } catch {
            // What was missed comes in its order; what is malformed even so is not this text's.
            if case .malformed = error { mustReload = true }
        }
        return splices
    }

    /// What has to be asked for, if anything.
    package var fetch: Fetch? {
        if !isLoaded || mustReload { return .snapshot }
        guard mayHaveMissed || serialSeen > serial else { return nil }
        return .entries(after: serial, epoch: document.epoch)
    }

    /// Takes in what was asked for.
    ///
    /// - Returns: What has changed, splice after splice.
    package mutating func fetched(_ recovery: TextRecovery) -> [TextSplice] {
        switch recovery {
        case .snapshot(let snapshot):
            guard !isOutdated(snapshot) else { return [] }
            let before = document.string
            rebase(onto: snapshot)
            isLoaded = true
            mustReload = false
            // Entries that came meanwhile were applied to what is gone now.
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

    /// Whether a text lacks what is known to have been taken: it was on its way for too long.
    ///
    /// When this happens again and again, the other side has lost something, and its text counts.
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

    // MARK: Beginning anew

    /// Takes over a text that was loaded, and keeps what was edited here and is not part of it.
    private mutating func rebase(onto snapshot: TextSnapshot) {
        unsent = unsent.compactMap { batch in
            let rest = batch.after(snapshot.version[batch.replica, default: 0])
            return rest.operations.isEmpty ? nil : rest
        }
        var next = TextDocument(replica: document.replica, from: snapshot, limits: document.limits)
        // What is on its way may still be taken as it is: it must not be made anew, or it would be there twice.
        let keepsName = outdatedCount == 0
        if keepsName, unsent.allSatisfy({ (try? next.apply($0)) != nil }), next.waitingCount == 0 {
            document = next
            return
        }
        next = TextDocument(replica: .random(), from: snapshot, limits: document.limits)
        let edits = UnsentEdits(unsent, from: document, onto: next)
        unsent = []
        document = next
        for edit in edits.replayed(on: &document) { note(edit) }
    }
}
