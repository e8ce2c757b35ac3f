/// Finds what leads from one list of rows to another, with as few moves as possible.
///
/// Rows are the same row when their ids are equal; the same row with other contents is an update.
/// The cost is linear, but for the rows that change places: what both lists have in common at their
/// ends, and in long runs between, is compared and not hashed.
///
/// - Parameters:
///   - old: The rows before.
///   - new: The rows after.
/// - Returns: One batch, and the updates after it.
/// - Throws: ``DuplicateRow`` when an id is met twice in one list. Only rows that come, go or change
///   places are hashed, so a duplicate elsewhere is not found; the changes are right all the same,
///   index by index. ``duplicateRow(in:)`` looks at all rows.
@inlinable
public func rowChanges<Row: Identifiable & Equatable>(
    from old: [Row],
    to new: [Row]
) throws(DuplicateRow) -> RowChanges {
    let result: Result<RowChanges, DuplicateRow> = old.withUnsafeBufferPointer { old in
        new.withUnsafeBufferPointer { new in
            Result { () throws(DuplicateRow) in
                var difference = RowDifference(old: old, new: new)
                return try difference.changes(
                    in: [RowSegment(old: 0..<old.count, new: 0..<new.count)]
                )
            }
        }
    }
    return try result.get()
}

/// A part of the old list and a part of the new one, between rows that are known to stay.
@usableFromInline
struct RowSegment {
    /// The part of the old rows that are at hand.
    @usableFromInline var old: Range<Int>
    /// The part of the new rows that are at hand.
    @usableFromInline var new: Range<Int>
    /// What to add for an index of the whole old list.
    @usableFromInline var oldShift = 0
    /// What to add for an index of the whole new list.
    @usableFromInline var newShift = 0

    @inlinable
    init(old: Range<Int>, new: Range<Int>, oldShift: Int = 0, newShift: Int = 0) {
        self.old = old
        self.new = new
        self.oldShift = oldShift
        self.newShift = newShift
    }
}

/// One comparison of two lists.
///
/// Inlinable, so that an app's compiler makes one for its own type of row: several times faster.
@usableFromInline
struct RowDifference<Row: Identifiable & Equatable> {
    /// How far to look for the other list's row when the two do not agree.
    @usableFromInline static var window: Int { 16 }

    @usableFromInline let old: UnsafeBufferPointer<Row>
    @usableFromInline let new: UnsafeBufferPointer<Row>
    /// For each new row, the index of the old one, or -1; empty while all rows agree.
    @usableFromInline var sources: [Int] = []
    /// Old rows that have no new one yet, ascending.
    @usableFromInline var looseOld: [Int] = []
    /// New rows that have no old one yet, ascending.
    @usableFromInline var looseNew: [Int] = []
    @usableFromInline var result = RowChanges()

    @inlinable
    init(old: UnsafeBufferPointer<Row>, new: UnsafeBufferPointer<Row>) {
        self.old = old
        self.new = new
    }

    @inlinable
    mutating func changes(in segments: [RowSegment]) throws(DuplicateRow) -> RowChanges {
        var rest = segments
        for index in rest.indices { trim(&rest[index]) }
        if rest.contains(where: { !$0.old.isEmpty || !$0.new.isEmpty }) {
            sources = [Int](repeating: -1, count: new.count)
            for segment in rest { pair(segment) }
            try pairLoose(rest)
            for segment in rest { emit(segment, of: rest) }
        }
        result.updates.sort()
        return result
    }

    /// Takes off what both have in common at their ends.
    @inlinable
    mutating func trim(_ segment: inout RowSegment) {
        var (start, newStart) = (segment.old.lowerBound, segment.new.lowerBound)
        var (end, newEnd) = (segment.old.upperBound, segment.new.upperBound)
        while start < end, newStart < newEnd, old[start].id == new[newStart].id {
            if old[start] != new[newStart] {
                result.updates.append(newStart + segment.newShift)
            }
            start += 1
            newStart += 1
        }
        while start < end, newStart < newEnd, old[end - 1].id == new[newEnd - 1].id {
            end -= 1
            newEnd -= 1
            if old[end] != new[newEnd] { result.updates.append(newEnd + segment.newShift) }
        }
        segment.old = start..<end
        segment.new = newStart..<newEnd
    }

    /// Walks both lists side by side and pairs what agrees, over small holes in either of them.
    @inlinable
    mutating func pair(_ segment: RowSegment) {
        var (from, to) = (segment.old.lowerBound, segment.new.lowerBound)
        let (fromEnd, toEnd) = (segment.old.upperBound, segment.new.upperBound)
        // Lists with nothing in common are given up on early: the search costs more than hashing.
        var misses = 16 + (toEnd - to) / 64
        while from < fromEnd, to < toEnd, misses > 0 {
            if old[from].id == new[to].id {
                sources[to] = from
                from += 1
                to += 1
                continue
            }
            var step = 1
            while step <= Self.window {
                if from + step < fromEnd, old[from + step].id == new[to].id {
                    looseOld.append(contentsOf: from..<(from + step))
                    from += step
                    break
                }
                if to + step < toEnd, old[from].id == new[to + step].id {
                    looseNew.append(contentsOf: to..<(to + step))
                    to += step
                    break
                }
                step += 1
            }
            if step > Self.window {
                misses -= 1
                looseOld.append(from)
                looseNew.append(to)
                from += 1
                to += 1
            }
        }
        looseOld.append(contentsOf: from..<fromEnd)
        looseNew.append(contentsOf: to..<toEnd)
    }

    /// Pairs the rest by id, which is where rows are hashed, each once.
    @inlinable
    mutating func pairLoose(_ segments: [RowSegment]) throws(DuplicateRow) {
        guard !looseNew.isEmpty || !looseOld.isEmpty else { return }
        /// By id, the index of an old row, or the complement of a new row's.
        var places: [Row.ID: Int] = [:]
        places.reserveCapacity(looseOld.count + looseNew.count / 4)
        for index in looseOld {
            if let first = places.updateValue(index, forKey: old[index].id) {
                throw duplicate(old[index].id, first, index, in: segments, \.old, \.oldShift)
            }
        }
        var isTaken = [Bool](repeating: false, count: old.count)
        for index in looseNew {
            let place = Self.take(&places[new[index].id, default: ~index], ~index)
            if place >= 0 {
                sources[index] = place
                isTaken[place] = true
            } else if ~place != index {
                throw duplicate(new[index].id, ~place, index, in: segments, \.new, \.newShift)
            }
        }
        var position = 0
        for index in looseOld where !isTaken[index] {
            while !segments[position].old.contains(index) { position += 1 }
            result.deletes.append(index + segments[position].oldShift)
        }
    }

    /// What was there; from now on it is the new row's.
    @inlinable
    static func take(_ place: inout Int, _ new: Int) -> Int {
        let before = place
        place = new
        return before
    }

    @inlinable
    func duplicate(
        _ id: Row.ID,
        _ first: Int,
        _ second: Int,
        in segments: [RowSegment],
        _ range: KeyPath<RowSegment, Range<Int>>,
        _ shift: KeyPath<RowSegment, Int>
    ) -> DuplicateRow {
        func whole(_ index: Int) -> Int {
            for segment in segments where segment[keyPath: range].contains(index) {
                return index + segment[keyPath: shift]
            }
            return index
        }
        return DuplicateRow(id: "\(id)", first: whole(first), second: whole(second))
    }

    /// Says what happens to the rows of a segment.
    @inlinable
    mutating func emit(_ segment: RowSegment, of segments: [RowSegment]) {
        let isKept = kept(in: segment)
        for index in segment.new {
            let source = sources[index]
            guard source >= 0 else {
                result.inserts.append(index + segment.newShift)
                continue
            }
            if let isKept, !isKept[index - segment.new.lowerBound] {
                let origin = segments.first { $0.old.contains(source) } ?? segment
                result.moves.append(
                    RowChanges.Move(
                        from: source + origin.oldShift,
                        to: index + segment.newShift
                    )
                )
            }
            if old[source] != new[index] { result.updates.append(index + segment.newShift) }
        }
    }

    /// Which of a segment's new rows can stay; `nil` when all that were there before can.
    @inlinable
    func kept(in segment: RowSegment) -> [Bool]? {
        var isOrdered = true
        var last = -1
        for index in segment.new where sources[index] >= 0 {
            guard sources[index] > last, segment.old.contains(sources[index]) else {
                isOrdered = false
                break
            }
            last = sources[index]
        }
        guard !isOrdered else { return nil }
        let numbers = segment.new.map { segment.old.contains(sources[$0]) ? sources[$0] : -1 }
        return numbers.withUnsafeBufferPointer { longestIncreasingSubsequence($0) }
    }
}
