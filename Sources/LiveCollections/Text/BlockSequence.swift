/// The ordered scalars of a text, including deleted ones, with an index of their locations.
///
/// Blocks are stored in chunks of bounded length, each with its visible extent, so an offset is located without
/// iterating over the whole text. For each replica, a sorted list of blocks maps a scalar to its chunk.
struct BlockSequence: Sendable {
    /// The maximum number of blocks of a chunk.
    private static let chunkLengthMax = 128
    /// The maximum number of visible scalars of a block, which bounds a search inside one.
    private static let blockLengthMax = 1_024

    private struct Chunk: Sendable {
        var blocks: [TextBlock]
        var visible: TextExtent
    }

    /// The blocks of one replica by time, with their chunks.
    private struct ReplicaIndex: Sendable {
        var times: [UInt64] = []
        var chunks: [Int] = []

        /// Returns the last block that begins at or before `time`.
        func index(atOrBefore time: UInt64) -> Int? {
            var low = 0
            var high = times.count
            while low < high {
                let middle = (low + high) / 2
                if times[middle] <= time { low = middle + 1 } else { high = middle }
            }
            return low > 0 ? low - 1 : nil
        }
    }

    /// The location of a scalar: its chunk, its block in the chunk and its offset in the block.
    private struct Location {
        var chunk: Int
        var block: Int
        var offset: Int
    }

    /// Every scalar that was inserted, in the order of arrival.
    private var store: [Unicode.Scalar] = []
    private var chunks: [Chunk] = []
    /// The indices of the chunks in the order of the text.
    private var order: [Int] = []
    private var replicaIndices: [ReplicaID: ReplicaIndex] = [:]

    /// The visible extent.
    private(set) var visible = TextExtent.zero
    /// The number of deleted scalars whose IDs are still stored.
    private(set) var deletedCount = 0

    /// All blocks in the order of the text.
    var blocks: some Sequence<TextBlock> { order.lazy.flatMap { chunks[$0].blocks } }

    /// The scalars of a block that is not deleted.
    func scalars(of block: TextBlock) -> ArraySlice<Unicode.Scalar> {
        store[block.start..<(block.start + block.count)]
    }

    // MARK: Searching

    func contains(_ id: ScalarID) -> Bool { location(of: id) != nil }

    /// Whether the text contains every scalar of the range.
    func contains(_ range: ScalarRange) -> Bool {
        var next = range.start
        while next.time < range.endTime {
            guard let location = location(of: next) else { return false }
            next.time = self[location].endTime
        }
        return true
    }

    func isVisible(_ id: ScalarID) -> Bool { location(of: id).map { !self[$0].isDeleted } ?? false }

    /// Returns the visible scalars of a range; unknown scalars are skipped.
    func visibleRanges(in range: ScalarRange) -> [ScalarRange] {
        var ranges: [ScalarRange] = []
        var next = range.start
        while next.time < range.endTime {
            guard let location = location(of: next) else {
                next.time += 1
                continue
            }
            let end = min(self[location].endTime, range.endTime)
            if !self[location].isDeleted {
                ranges.append(ScalarRange(next, count: Int(end - next.time)))
            }
            next.time = end
        }
        return ranges
    }

    /// Returns the time after the latest scalar of a replica; 0 without any.
    func endTime(of replica: ReplicaID) -> UInt64 {
        guard let known = replicaIndices[replica], let last = known.times.last else { return 0 }
        return location(of: ScalarID(time: last, replica: replica)).map { self[$0].endTime } ?? 0
    }

    /// Returns the visible extent before a scalar and that of the scalar itself.
    func position(of id: ScalarID) -> (before: TextExtent, visible: TextExtent)? {
        guard let location = location(of: id) else { return nil }
        let block = self[location]
        let own =
            block.isDeleted
            ? .zero : TextExtent.of(CollectionOfOne(store[block.start + location.offset]))
        return (extent(before: location), own)
    }

    /// Returns the scalar before a range, and the scalars in the range.
    ///
    /// - Parameter range: UTF-16 offsets within bounds.
    /// - Returns: The scalar that ends at the lower offset, `nil` at the start, and the scalars in the range.
    /// - Throws: ``TextError/insideScalar(offset:)`` when an offset is in the middle of a surrogate pair.
    func scalars(
        in range: Range<Int>
    ) throws(TextError) -> (left: ScalarID?, ranges: [ScalarRange]) {
        var left: ScalarID?
        var ranges: [ScalarRange] = []
        var start = 0
        for index in order {
            let chunk = chunks[index]
            let end = start + chunk.visible.utf16
            // A chunk that ends at the lower offset contains the scalar to its left.
            if end >= range.lowerBound, chunk.visible.utf16 > 0 {
                var blockStart = start
                for block in chunk.blocks where !block.isDeleted {
                    let blockEnd = blockStart + block.visible.utf16
                    if blockEnd >= range.lowerBound {
                        let low = max(range.lowerBound - blockStart, 0)
                        let high = min(range.upperBound, blockEnd) - blockStart
                        if blockStart < range.lowerBound {
                            let offset = try scalarOffset(low, in: block, at: blockStart)
                            left = block.id.advanced(by: offset - 1)
                        }
                        if low < high {
                            let first = try scalarOffset(low, in: block, at: blockStart)
                            let last = try scalarOffset(high, in: block, at: blockStart)
                            ranges.append(
                                ScalarRange(block.id.advanced(by: first), count: last - first)
                            )
                        }
                    }
                    blockStart = blockEnd
                    if blockStart >= range.upperBound, blockStart > 0 { return (left, ranges) }
                }
            }
            start = end
        }
        return (left, ranges)
    }

    /// Converts a UTF-16 offset in a block to a scalar offset.
    private func scalarOffset(
        _ offset: Int,
        in block: TextBlock,
        at start: Int
    ) throws(TextError) -> Int {
        if block.visible.utf16 == block.count || offset == 0 { return offset }
        var units = 0
        for (index, scalar) in scalars(of: block).enumerated() {
            if units == offset { return index }
            guard units < offset else { break }
            units += UTF16.width(scalar)
        }
        guard units == offset else { throw .insideScalar(offset: start + offset) }
        return block.count
    }

    private func location(of id: ScalarID) -> Location? {
        guard let known = replicaIndices[id.replica], let index = known.index(atOrBefore: id.time)
        else { return nil }
        let chunk = known.chunks[index]
        let start = ScalarID(time: known.times[index], replica: id.replica)
        guard let block = chunks[chunk].blocks.firstIndex(where: { $0.id == start }),
            id.time < chunks[chunk].blocks[block].endTime
        else { return nil }
        return Location(chunk: chunk, block: block, offset: Int(id.time - start.time))
    }

    private subscript(_ location: Location) -> TextBlock {
        chunks[location.chunk].blocks[location.block]
    }

    private func extent(before location: Location) -> TextExtent {
        var extent = TextExtent.zero
        for index in order {
            if index == location.chunk { break }
            extent += chunks[index].visible
        }
        for block in chunks[location.chunk].blocks[..<location.block] { extent += block.visible }
        let block = self[location]
        if !block.isDeleted { extent += self.extent(of: block, offset: 0, count: location.offset) }
        return extent
    }

    /// Returns the extent of some scalars of a visible block.
    private func extent(of block: TextBlock, offset: Int, count: Int) -> TextExtent {
        if block.visible.utf8 == block.count {
            return TextExtent(scalars: count, utf16: count, utf8: count)
        }
        return .of(store[(block.start + offset)...].prefix(count))
    }

    // MARK: Editing

    /// Inserts scalars with consecutive times.
    ///
    /// Of concurrent insertions at the same position, the later one is placed to the left, together with its
    /// descendants: all scalars to the right of `parent` that are later than `id` are skipped.
    ///
    /// - Parameters:
    ///   - scalars: The scalars; not empty.
    ///   - id: The ID of the first scalar; new and later than `parent`.
    ///   - parent: The scalar to insert after, which must exist; `nil` for the start.
    /// - Returns: The visible extent before the inserted scalars.
    mutating func insert(
        _ scalars: some Collection<Unicode.Scalar>,
        id: ScalarID,
        after parent: ScalarID?
    ) -> TextExtent {
        guard !order.isEmpty else {
            append(scalars, id: id, isDeleted: false, count: scalars.count)
            return .zero
        }
        // The location of the scalar that will follow; one past the last block at the end.
        var next = Location(chunk: order[0], block: 0, offset: 0)
        if let parent, let location = location(of: parent) {
            next = location
            next.offset += 1
        }
        var rank = order.firstIndex(of: next.chunk) ?? 0
        while true {
            if next.block == chunks[next.chunk].blocks.count {
                guard rank + 1 < order.count else { break }
                rank += 1
                next = Location(chunk: order[rank], block: 0, offset: 0)
                continue
            }
            let block = self[next]
            if next.offset < block.count, block.id.advanced(by: next.offset) < id { break }
            // Times ascend within a block: if the first scalar is later, all are.
            next.block += 1
            next.offset = 0
        }
        if next.offset > 0 {
            split(chunk: next.chunk, block: next.block, at: next.offset)
            next.block += 1
            next.offset = 0
        }
        return insert(scalars, id: id, chunk: next.chunk, block: next.block)
    }

    /// Inserts scalars before a block.
    private mutating func insert(
        _ scalars: some Collection<Unicode.Scalar>,
        id: ScalarID,
        chunk: Int,
        block index: Int
    ) -> TextExtent {
        var before = TextExtent.zero
        for other in order {
            if other == chunk { break }
            before += chunks[other].visible
        }
        for block in chunks[chunk].blocks[..<index] { before += block.visible }
        let start = store.count
        store.append(contentsOf: scalars)
        let extent = TextExtent.of(scalars)
        visible += extent
        chunks[chunk].visible += extent
        let new = TextBlock(id: id, count: extent.scalars, start: start, visible: extent)
        if index > 0, canJoin(chunks[chunk].blocks[index - 1], new) {
            chunks[chunk].blocks[index - 1].append(new)
        } else {
            chunks[chunk].blocks.insert(new, at: index)
            register(new.id, in: chunk)
            splitIfLong(chunk)
        }
        return before
    }

    /// Appends scalars at the end, as when a snapshot is loaded.
    ///
    /// - Parameters:
    ///   - scalars: The scalars; empty for deleted ones.
    ///   - id: The ID of the first scalar; new.
    ///   - isDeleted: Whether they are deleted.
    ///   - count: The number of scalars.
    mutating func append(
        _ scalars: some Collection<Unicode.Scalar>,
        id: ScalarID,
        isDeleted: Bool,
        count: Int
    ) {
        var rest = scalars[...]
        var id = id
        var left = count
        while left > 0 {
            let length = isDeleted ? left : min(left, Self.blockLengthMax)
            let part = rest.prefix(length)
            rest = rest.dropFirst(length)
            let extent = TextExtent.of(part)
            let block = TextBlock(id: id, count: length, start: store.count, visible: extent)
            store.append(contentsOf: part)
            visible += extent
            if let last = order.last, chunks[last].blocks.count < Self.chunkLengthMax {
                chunks[last].blocks.append(block)
                chunks[last].visible += extent
            } else {
                order.append(chunks.count)
                chunks.append(Chunk(blocks: [block], visible: extent))
            }
            register(id, in: order[order.count - 1])
            if isDeleted { deletedCount += length }
            id = id.advanced(by: length)
            left -= length
        }
    }

    /// Deletes scalars, which must exist; already deleted ones are skipped.
    ///
    /// - Parameter range: The scalars.
    /// - Returns: The removed extents; each `before` is an offset in the text without the previous removals.
    mutating func delete(
        _ range: ScalarRange
    ) -> [(before: TextExtent, removed: TextExtent)] {
        var removals: [(before: TextExtent, removed: TextExtent)] = []
        var next = range.start
        while next.time < range.endTime, var location = location(of: next) {
            let block = self[location]
            let end = min(range.endTime, block.endTime)
            let count = Int(end - next.time)
            next.time = end
            guard !block.isDeleted else { continue }
            if location.offset > 0 {
                split(chunk: location.chunk, block: location.block, at: location.offset)
                location = Location(chunk: location.chunk, block: location.block + 1, offset: 0)
            }
            if count < self[location].count {
                split(chunk: location.chunk, block: location.block, at: count)
            }
            let before = extent(before: location)
            let removed = self[location].visible
            removals.append((before, removed))
            chunks[location.chunk].blocks[location.block].visible = .zero
            chunks[location.chunk].visible -= removed
            visible -= removed
            deletedCount += count
            joinNeighbours(of: location)
            splitIfLong(location.chunk)
        }
        return removals
    }

    private func canJoin(_ left: TextBlock, _ right: TextBlock) -> Bool {
        left.continues(with: right)
            && (left.isDeleted || left.count + right.count <= Self.blockLengthMax)
    }

    private mutating func joinNeighbours(of location: Location) {
        for index in [location.block, location.block - 1] where index >= 0 {
            guard index + 1 < chunks[location.chunk].blocks.count else { continue }
            let next = chunks[location.chunk].blocks[index + 1]
            guard canJoin(chunks[location.chunk].blocks[index], next) else { continue }
            unregister(next.id)
            chunks[location.chunk].blocks[index].append(next)
            chunks[location.chunk].blocks.remove(at: index + 1)
        }
    }

    /// Splits a block; both parts stay in the chunk, the right one after the left.
    private mutating func split(chunk: Int, block index: Int, at offset: Int) {
        let block = chunks[chunk].blocks[index]
        var left = block
        left.count = offset
        var right = block
        right.id = block.id.advanced(by: offset)
        right.count -= offset
        if !block.isDeleted {
            left.visible = extent(of: block, offset: 0, count: offset)
            right.visible -= left.visible
            right.start += offset
        }
        chunks[chunk].blocks[index] = left
        chunks[chunk].blocks.insert(right, at: index + 1)
        register(right.id, in: chunk)
    }

    /// Splits a chunk that has too many blocks.
    private mutating func splitIfLong(_ index: Int) {
        guard chunks[index].blocks.count > Self.chunkLengthMax else { return }
        let half = chunks[index].blocks.count / 2
        let moved = Array(chunks[index].blocks[half...])
        chunks[index].blocks.removeSubrange(half...)
        let extent = moved.reduce(TextExtent.zero) { $0 + $1.visible }
        chunks[index].visible -= extent
        let new = chunks.count
        chunks.append(Chunk(blocks: moved, visible: extent))
        order.insert(new, at: (order.firstIndex(of: index) ?? 0) + 1)
        for block in moved { relocate(block.id, to: new) }
    }

    // MARK: Index

    private mutating func register(_ id: ScalarID, in chunk: Int) {
        let index = replicaIndices[id.replica]?.index(atOrBefore: id.time).map { $0 + 1 } ?? 0
        replicaIndices[id.replica, default: ReplicaIndex()].times.insert(id.time, at: index)
        replicaIndices[id.replica]?.chunks.insert(chunk, at: index)
    }

    private mutating func unregister(_ id: ScalarID) {
        guard let index = replicaIndices[id.replica]?.index(atOrBefore: id.time) else { return }
        replicaIndices[id.replica]?.times.remove(at: index)
        replicaIndices[id.replica]?.chunks.remove(at: index)
    }

    private mutating func relocate(_ id: ScalarID, to chunk: Int) {
        guard let index = replicaIndices[id.replica]?.index(atOrBefore: id.time) else { return }
        replicaIndices[id.replica]?.chunks[index] = chunk
    }
}
