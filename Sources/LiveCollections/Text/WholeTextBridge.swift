/// Derives the edits of clients that send and receive only whole texts.
///
/// Such a client sends neither its change nor the text that it changed. That text must be one that the client had: the
/// last one it sent, the last one it received, or one that was in flight. The bridge chooses the candidate with the
/// smallest change.
struct WholeTextBridge: Sendable {
    /// The maximum delay until a text reaches a client and its user.
    static let latencyMax = Duration.seconds(2)
    /// The time without a text after which a device may have restarted with an empty text.
    static let silenceMax = Duration.seconds(60)
    /// The maximum number of scalars that a restarted device is assumed to delete at once.
    static let deletedMax = 8
    /// The maximum number of remembered published texts.
    static let publishedMax = 40
    /// The maximum number of devices whose last text is remembered.
    static let devicesMax = 32

    /// A text with the IDs of its scalars.
    fileprivate struct KnownText: Sendable {
        var time: Duration
        /// The number of texts published up to this one, or up to the one from which it is derived.
        var order: Int
        var text: String
        var names: [ScalarRange]

        /// The empty text of a client that has received none.
        static let empty = KnownText(time: .zero, order: 0, text: "", names: [])

        /// Returns the text of a device after its change of this text.
        func changed(
            by change: ScalarChange,
            inserting new: [ScalarRange],
            to text: String,
            at time: Duration
        ) -> KnownText {
            let end = names.reduce(0) { $0 + $1.count }
            let names = cut(0..<change.range.lowerBound) + new + cut(change.range.upperBound..<end)
            return KnownText(time: time, order: order, text: text, names: names)
        }

        private func cut(_ range: Range<Int>) -> [ScalarRange] {
            var start = 0
            return names.compactMap { name in
                let part = range.clamped(to: start..<(start + name.count))
                defer { start += name.count }
                guard !part.isEmpty else { return nil }
                let first = name.start.advanced(by: part.lowerBound - start)
                return ScalarRange(first, count: part.count)
            }
        }

        /// Returns the scalars in a range of indices that are still visible in a text.
        func names(_ range: Range<Int>, in sequence: BlockSequence) -> [ScalarRange] {
            var found: [ScalarRange] = []
            var start = 0
            for name in names {
                let part = range.clamped(to: start..<(start + name.count))
                for index in part {
                    let id = name.start.advanced(by: index - start)
                    guard sequence.isVisible(id) else { continue }
                    if let last = found.last, last.endTime == id.time,
                        last.start.replica == id.replica
                    {
                        found[found.count - 1].count += 1
                    } else {
                        found.append(ScalarRange(id, count: 1))
                    }
                }
                start += name.count
            }
            return found
        }

        /// Returns the last scalar before an index whose ID a text still contains.
        func left(of index: Int, in sequence: BlockSequence) -> ScalarID? {
            var end = names.reduce(0) { $0 + $1.count }
            for name in names.reversed() {
                end -= name.count
                var offset = min(index - end, name.count)
                while offset > 0 {
                    let id = name.start.advanced(by: offset - 1)
                    if sequence.contains(id) { return id }
                    offset -= 1
                }
            }
            return nil
        }
    }

    /// A client's edit.
    struct Edit {
        /// The deleted scalars that are still visible.
        var deleted: [ScalarRange] = []
        /// The scalar after which to insert; `nil` for the start.
        var left: ScalarID?
        /// The inserted text.
        var inserted = ""
        fileprivate var base: KnownText
        fileprivate var change: ScalarChange?

        /// The size of the change; a smaller change is more likely.
        ///
        /// Of equal changes, the one that deletes less of the current text is preferred.
        fileprivate var cost: (changed: Int, deleted: Int) {
            let changed = change.map { $0.range.count + inserted.unicodeScalars.count } ?? 0
            return (changed, deleted.reduce(0) { $0 + $1.count })
        }
    }

    /// The published texts, oldest first.
    private var published: [KnownText] = []
    /// The last text that each device sent, oldest first.
    private var own: [(device: String, known: KnownText)] = []

    /// Starts with a text that all clients have.
    mutating func begin(with document: TextDocument) {
        let names = document.sequence.visibleNames
        published = [KnownText(time: .zero, order: 1, text: document.string, names: names)]
    }

    /// Derives the edit of a client.
    func edit(
        leadingTo text: String,
        from device: String,
        at now: Duration,
        in document: TextDocument
    ) -> Edit {
        let new = Array(text.unicodeScalars)
        var best = Edit(base: .empty, change: nil)
        var leastCost = (Int.max, 0)
        // The client may already have the current text, but a published one is more likely.
        let present = KnownText(
            time: now,
            order: published.last?.order ?? 0,
            text: document.string,
            names: document.sequence.visibleNames
        )
        for known in [present] + candidates(for: device, posting: text, at: now) {
            var edit = Edit(base: known, change: nil)
            if let change = ScalarChange(from: Array(known.text.unicodeScalars), to: new) {
                edit.change = change
                edit.deleted = known.names(change.range, in: document.sequence)
                edit.left = known.left(of: change.range.lowerBound, in: document.sequence)
                edit.inserted = change.replacement
            }
            // Of equal costs the newest text wins; it comes last.
            guard edit.cost <= leastCost else { continue }
            leastCost = edit.cost
            best = edit
        }
        return best
    }

    /// Returns the texts that a client may have changed, oldest first.
    private func candidates(
        for device: String,
        posting text: String,
        at now: Duration
    ) -> [KnownText] {
        let posted = own.first { $0.device == device }?.known
        var known = published
        if let posted {
            // It cannot show a text that is older than the one it changed last.
            known.removeAll { $0.order <= posted.order }
            known.insert(posted, at: known.firstIndex { $0.time > posted.time } ?? known.count)
        }
        // Of the texts that have reached every client, the client shows the last one.
        if let settled = known.lastIndex(where: { $0.time < now - Self.latencyMax }) {
            known.removeFirst(settled)
        }
        let isQuiet = posted.map { $0.time < now - Self.silenceMax } ?? true
        if isQuiet, let latest = known.last, isProbablyFresh(with: text, beside: latest.text) {
            known.insert(.empty, at: 0)
        }
        return known
    }

    /// Whether a text was probably typed into an empty client, rather than by deleting most of the text.
    private func isProbablyFresh(with text: String, beside latest: String) -> Bool {
        let old = Array(latest.unicodeScalars)
        let new = Array(text.unicodeScalars)
        guard !new.isEmpty, let change = ScalarChange(from: old, to: new) else { return false }
        let deletedCount = change.range.count
        return deletedCount == old.count || deletedCount > max(Self.deletedMax, old.count / 2)
    }

    /// Stores the text of a device, after its edit has become a batch.
    mutating func posted(
        _ text: String,
        from device: String,
        at now: Duration,
        by edit: Edit,
        as batch: TextBatch
    ) {
        var shown = edit.base
        if let change = edit.change {
            let typed = batch.operations.compactMap { operation -> ScalarRange? in
                guard case .insert(let time, _, _) = operation else { return nil }
                let start = ScalarID(time: time, replica: batch.replica)
                return ScalarRange(start, count: Int(operation.numberCount))
            }
            shown = shown.changed(by: change, inserting: typed, to: text, at: now)
        }
        shown.time = now
        own.removeAll { $0.device == device }
        own.append((device, shown))
        if own.count > Self.devicesMax { own.removeFirst() }
    }

    /// Returns the text to publish and the device that must ignore it; `nil` when the text is already published.
    mutating func update(
        by name: String,
        at now: Duration,
        in document: TextDocument
    ) -> (text: String, device: String)? {
        guard let last = published.last, last.text != document.string else { return nil }
        let names = document.sequence.visibleNames
        let order = last.order + 1
        published.append(KnownText(time: now, order: order, text: document.string, names: names))
        if published.count > Self.publishedMax { published.removeFirst() }
        // The device that sent this text, and had received all earlier ones, already shows it.
        let author = own.lastIndex {
            $0.known.text == document.string && $0.known.order == last.order
        }
        guard let author else { return (document.string, name) }
        own[author].known.order = order
        return (document.string, own[author].device)
    }
}

extension BlockSequence {
    /// The IDs of the visible scalars, in order.
    fileprivate var visibleNames: [ScalarRange] {
        blocks.lazy.filter { !$0.isDeleted }.map(\.range)
    }
}
