/// Returns the changes from one list of rows to another, with as few moves as possible.
///
/// Rows with equal IDs are the same row; the same row with other contents is an update. The cost is linear except for
/// moved rows. Common prefixes, suffixes and long runs are compared, not hashed.
///
/// - Parameters:
///   - old: The rows before.
///   - new: The rows after.
/// - Returns: One batch, and the updates after it.
/// - Throws: ``DuplicateRow`` when an ID is found twice in one list. Only inserted, deleted and moved rows are hashed,
///   so a duplicate elsewhere is not found; the changes are still correct, index by index. ``duplicateRow(in:)`` checks
///   all rows.
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

/// A part of the old list and a part of the new one, between rows that are known not to move.
@usableFromInline
struct RowSegment {
    /// The range in the given old rows.
    @usableFromInline var old: Range<Int>
    /// The range in the given new rows.
    @usableFromInline var new: Range<Int>
    /// The offset from `old` to an index of the whole old list.
    @usableFromInline var oldShift = 0
    /// The offset from `new` to an index of the whole new list.
    @usableFromInline var newShift = 0

    @inlinable
    init(old: Range<Int>, new: Range<Int>, oldShift: Int = 0, newShift: Int = 0) {
        self.old = old
        self.new = new
        self.oldShift = oldShift
        self.newShift = newShift
    }
}

/// A comparison of two lists.
///
/// Inlinable, so that the app's compiler specialises it for its row type, which is several times faster.
@usableFromInline
struct RowDifference<Row: Identifiable & Equatable> {
    /// The number of rows to search ahead for a match.
    @usableFromInline static var window: Int { 16 }

    @usableFromInline let old: UnsafeBufferPointer<Row>
    @usableFromInline let new: UnsafeBufferPointer<Row>
    /// For each new row, the index of the old one, or -1; empty while all rows match.
    @usableFromInline var sources: [Int] = []
    /// Old rows without a match, ascending.
    @usableFromInline var unmatchedOld: [Int] = []
    /// New rows without a match, ascending.
    @usableFromInline var unmatchedNew: [Int] = []
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
            for segment in rest { match(segment) }
            try matchByID(rest)
            for segment in rest { appendChanges(segment, of: rest) }
        }
        result.updates.sort()
        return result
    }

    /// Removes the common prefix and suffix.
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

    /// Matches rows of both lists in order, across gaps of at most `window` rows.
    @inlinable
    mutating func match(_ segment: RowSegment) {
        var (from, to) = (segment.old.lowerBound, segment.new.lowerBound)
        let (fromEnd, toEnd) = (segment.old.upperBound, segment.new.upperBound)
        // Stops early if the lists have little in common, because the search costs more than hashing.
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
                    unmatchedOld.append(contentsOf: from..<(from + step))
                    from += step
                    break
                }
                if to + step < toEnd, old[from].id == new[to + step].id {
                    unmatchedNew.append(contentsOf: to..<(to + step))
                    to += step
                    break
                }
                step += 1
            }
            if step > Self.window {
                misses -= 1
                unmatchedOld.append(from)
                unmatchedNew.append(to)
                from += 1
                to += 1
            }
        }
        unmatchedOld.append(contentsOf: from..<fromEnd)
        unmatchedNew.append(contentsOf: to..<toEnd)
    }

    /// Matches the remaining rows by ID; each is hashed once.
    @inlinable
    mutating func matchByID(_ segments: [RowSegment]) throws(DuplicateRow) {
        guard !unmatchedNew.isEmpty || !unmatchedOld.isEmpty else { return }
        /// By ID, the index of an old row, or the complement of a new row's index.
        var indices: [Row.ID: Int] = [:]
        indices.reserveCapacity(unmatchedOld.count + unmatchedNew.count / 4)
        for index in unmatchedOld {
            if let first = indices.updateValue(index, forKey: old[index].id) {
                throw duplicate(old[index].id, first, index, in: segments, \.old, \.oldShift)
            }
        }
        var isMatched = [Bool](repeating: false, count: old.count)
        for index in unmatchedNew {
            let match = Self.exchange(&indices[new[index].id, default: ~index], ~index)
            if match >= 0 {
                sources[index] = match
                isMatched[match] = true
            } else if ~match != index {
                throw duplicate(new[index].id, ~match, index, in: segments, \.new, \.newShift)
            }
        }
        var position = 0
        for index in unmatchedOld where !isMatched[index] {
            while !segments[position].old.contains(index) { position += 1 }
            result.deletes.append(index + segments[position].oldShift)
        }
    }

    /// Stores a new value and returns the old one.
    @inlinable
    static func exchange(_ value: inout Int, _ new: Int) -> Int {
        let before = value
        value = new
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

    /// Appends the changes of a segment.
    @inlinable
    mutating func appendChanges(_ segment: RowSegment, of segments: [RowSegment]) {
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

    /// Returns which of a segment's new rows do not move; `nil` when all move.
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
