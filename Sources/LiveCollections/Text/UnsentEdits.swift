/// What was edited here and has to be made anew on another state of the text, where names may be missing.
struct UnsentEdits {
    /// Text that was typed, and what to type it after.
    private var typed: [(left: ScalarID?, text: String)] = []
    /// What was deleted and is still to be seen.
    private var deleted: [ScalarRange] = []

    /// Takes the edits out of one text and finds their places in another.
    ///
    /// - Parameters:
    ///   - batches: What was edited.
    ///   - old: A text that has seen it; what it has not seen goes to the end.
    ///   - new: The text on which the edits are to be made.
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

    /// Walks the old text once: each stretch of own text goes after the last name before it that is left.
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
                // Its own text may have been taken after all.
                if new.sequence.contains(id) { left = id }
                guard left != id, !block.isDeleted, ranges.contains(where: { $0.contains(id.time) })
                else { continue }
                // Stretches that have lost all between them become one.
                if typed.isEmpty || typed[typed.count - 1].left != left { typed.append((left, "")) }
                let scalar = text[text.startIndex + offset]
                typed[typed.count - 1].text.unicodeScalars.append(scalar)
            }
        }
    }

    /// Makes the edits anew.
    ///
    /// - Parameter document: The text to make them on.
    /// - Returns: What the others have to be told.
    func replayed(on document: inout TextDocument) -> [TextBatch] {
        var batches = typed.map { document.write([], after: $0.left, $0.text) }
        if !deleted.isEmpty { batches.append(document.write(deleted, after: nil, "")) }
        return batches
    }
}
