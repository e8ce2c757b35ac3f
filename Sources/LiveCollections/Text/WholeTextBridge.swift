/// What clients have before their screens that send and receive the whole text.
///
/// Such a client says nothing of what it changed, and of which text. But it can only have changed a text that it
/// had: its own last one, the last that it was told, or one of those that were on their way. The one that needs
/// the smallest change is taken to be it.
struct WholeTextBridge: Sendable {
    /// How long a text may be on its way to a client, or to its user's attention.
    static let travelTimeMax = Duration.seconds(2)
    /// How long a device is silent before it may have begun anew, with an empty screen.
    static let silenceMax = Duration.seconds(60)
    /// The most scalars that somebody who has just come deletes at once, in all likelihood.
    static let deletedMax = 8
    /// The most texts that are remembered as told to all.
    static let toldMax = 40
    /// The most devices whose own last text is remembered.
    static let devicesMax = 32

    /// A text with the names of its scalars.
    fileprivate struct Known: Sendable {
        var time: Duration
        /// How many texts all had been told, this one or the one that it came from included.
        var order: Int
        var text: String
        var names: [ScalarRange]

        /// What a client shows that has not been told anything.
        static let nothing = Known(time: .zero, order: 0, text: "", names: [])

        /// What a device shows after a change of this text.
        func changed(
            by change: ScalarChange,
            inserting new: [ScalarRange],
            to text: String,
            at time: Duration
        ) -> Known {
            let end = names.reduce(0) { $0 + $1.count }
            let names = cut(0..<change.range.lowerBound) + new + cut(change.range.upperBound..<end)
            return Known(time: time, order: order, text: text, names: names)
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

        /// Those of the scalars that a text still has, from one index to another.
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

        /// The last scalar before an index that a text still knows, if only by name.
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

    /// What an old client did.
    struct Edit {
        /// What it deleted, of what is still there.
        var deleted: [ScalarRange] = []
        /// What it typed after, `nil` for the front.
        var left: ScalarID?
        /// What it typed.
        var inserted = ""
        fileprivate var base: Known
        fileprivate var change: ScalarChange?

        /// How much was changed: the less, the likelier that somebody did just this.
        ///
        /// Of changes of one size that is better which takes less away from others.
        fileprivate var cost: (changed: Int, deleted: Int) {
            let changed = change.map { $0.range.count + inserted.unicodeScalars.count } ?? 0
            return (changed, deleted.reduce(0) { $0 + $1.count })
        }
    }

    /// What all were told, oldest first.
    private var told: [Known] = []
    /// What devices showed last, of their own making; oldest first.
    private var own: [(device: String, known: Known)] = []

    /// Remembers a text as what everybody has.
    mutating func begin(with document: TextDocument) {
        let names = document.sequence.visibleNames
        told = [Known(time: .zero, order: 1, text: document.string, names: names)]
    }

    /// Finds out what a client did.
    func edit(
        leadingTo text: String,
        from device: String,
        at now: Duration,
        in document: TextDocument
    ) -> Edit {
        let new = Array(text.unicodeScalars)
        var best = Edit(base: .nothing, change: nil)
        var leastCost = (Int.max, 0)
        // It may have the text as it is from elsewhere, but what it was told is likelier.
        let present = Known(
            time: now,
            order: told.last?.order ?? 0,
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
            // Of equal ones that of the newest text, which comes last.
            guard edit.cost <= leastCost else { continue }
            leastCost = edit.cost
            best = edit
        }
        return best
    }

    /// The texts that a client may have changed, oldest first.
    private func candidates(
        for device: String,
        posting text: String,
        at now: Duration
    ) -> [Known] {
        let posted = own.first { $0.device == device }?.known
        var known = told
        if let posted {
            // What it had before the text that it changed last does not come back.
            known.removeAll { $0.order <= posted.order }
            known.insert(posted, at: known.firstIndex { $0.time > posted.time } ?? known.count)
        }
        // Of those that have reached everybody it has the last one.
        if let settled = known.lastIndex(where: { $0.time < now - Self.travelTimeMax }) {
            known.removeFirst(settled)
        }
        let isQuiet = posted.map { $0.time < now - Self.silenceMax } ?? true
        if isQuiet, let latest = known.last, mayHaveBegun(with: text, beside: latest.text) {
            known.insert(.nothing, at: 0)
        }
        return known
    }

    /// Whether a text looks as if it was typed on an empty screen, as old clients have it until somebody types.
    ///
    /// Otherwise it would be a text of which somebody deleted the most part.
    private func mayHaveBegun(with text: String, beside latest: String) -> Bool {
        let old = Array(latest.unicodeScalars)
        let new = Array(text.unicodeScalars)
        guard !new.isEmpty, let change = ScalarChange(from: old, to: new) else { return false }
        let deletedCount = change.range.count
        return deletedCount == old.count || deletedCount > max(Self.deletedMax, old.count / 2)
    }

    /// Remembers what a device shows, once its edit has become a batch.
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

    /// What to tell old clients, unless they know it.
    mutating func update(
        by name: String,
        at now: Duration,
        in document: TextDocument
    ) -> (text: String, device: String)? {
        guard let last = told.last, last.text != document.string else { return nil }
        let names = document.sequence.visibleNames
        let order = last.order + 1
        told.append(Known(time: now, order: order, text: document.string, names: names))
        if told.count > Self.toldMax { told.removeFirst() }
        // Who made this text and has seen all before it has it on the screen, or is already typing on.
        let author = own.lastIndex {
            $0.known.text == document.string && $0.known.order == last.order
        }
        guard let author else { return (document.string, name) }
        own[author].known.order = order
        return (document.string, own[author].device)
    }
}

extension BlockSequence {
    /// The names of what is visible, in order.
    fileprivate var visibleNames: [ScalarRange] {
        blocks.lazy.filter { !$0.isDeleted }.map(\.range)
    }
}
