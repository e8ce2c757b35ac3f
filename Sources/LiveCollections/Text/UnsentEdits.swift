/// Local edits to reapply to another state of the text, which may lack some of the IDs.
struct UnsentEdits {
    /// The inserted texts, each with the scalar after which to insert it.
    private var typed: [(left: ScalarID?, text: String)] = []
    /// The deleted scalars that are still visible in the new text.
    private var deleted: [ScalarRange] = []

    /// Extracts edits from one text and locates them in another.
    ///
    /// - Parameters:
    ///   - batches: The edits.
    ///   - old: A text that contains the edits; edits that it does not contain are placed at the end.
    ///   - new: The text to apply the edits to.
    init(_ batches: [TextBatch], from old: TextDocument, onto new: TextDocument) {
        var own: [ReplicaID: [Range<UInt64>]] = [:]
        var unseen: [(id: ScalarID, scalar: Unicode.Scalar)] = []
        for batch in batches {
            for operation in batch.operations {
                switch operation {
                case .delete(let range):
                    unseen.removeAll { range.contains($0.id) }
                    deleted += new.sequence.visibleRanges(in: range)
                case .insert(let time, _, let text):
                    let start = ScalarID(time: time, replica: batch.replica)
                    if old.sequence.contains(start) {
                        let end = time + operation.numberCount
                        own[batch.replica, default: []].append(time..<end)
                    } else {
                        for (offset, scalar) in text.unicodeScalars.enumerated() {
                            let id = start.advanced(by: offset)
                            if !new.sequence.contains(id) { unseen.append((id, scalar)) }
                        }
                    }
                }
            }
        }
        collect(own, from: old, onto: new)
        if !unseen.isEmpty {
            typed.append((new.lastVisible, ""))
            for (_, scalar) in unseen { typed[typed.count - 1].text.unicodeScalars.append(scalar) }
        }
    }

    /// Iterates over the old text once; each run of local text is placed after the last preceding scalar that still
    /// exists.
    private mutating func collect(
        _ own: [ReplicaID: [Range<UInt64>]],
        from old: TextDocument,
        onto new: TextDocument
    ) {
        var left: ScalarID?
        for block in old.sequence.blocks {
            let text = block.isDeleted ? [] : old.sequence.scalars(of: block)
            let ranges = own[block.id.replica] ?? []
            for offset in 0..<block.count {
                let id = block.id.advanced(by: offset)
                // A local scalar may have been accepted after all.
                if new.sequence.contains(id) { left = id }
                guard left != id, !block.isDeleted, ranges.contains(where: { $0.contains(id.time) })
                else { continue }
                // Runs between which nothing is left are merged.
                if typed.isEmpty || typed[typed.count - 1].left != left { typed.append((left, "")) }
                let scalar = text[text.startIndex + offset]
                typed[typed.count - 1].text.unicodeScalars.append(scalar)
            }
        }
    }

    /// The inserted texts and their positions.
    var insertions: [RefusedEdits.Insertion] {
        typed.map { left, text in
            RefusedEdits.Insertion(text, at: left.map { .after($0) } ?? .start)
        }
    }

    /// Reapplies the edits to a text, and returns the operations to send to other replicas.
    func replayed(on document: inout TextDocument) -> [TextBatch] {
        var batches = typed.map { document.write([], after: $0.left, $0.text) }
        if !deleted.isEmpty { batches.append(document.write(deleted, after: nil, "")) }
        return batches
    }
}
