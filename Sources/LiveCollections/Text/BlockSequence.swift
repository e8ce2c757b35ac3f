/// The scalars of a text in their order, deleted ones among them, and where each of them is.
///
/// Blocks are kept in chunks of bounded length, each with the extent of what is visible in it: a place is
/// found by its offset without walking the whole text. A sorted list of blocks for each replica tells in
/// which chunk a scalar is.
struct BlockSequence: Sendable {
    /// The most blocks of a chunk.
    private static let chunkLengthMax = 128
    /// The most visible scalars of a block, which bounds the walk inside one.
    private static let blockLengthMax = 1_024

    private struct Chunk: Sendable {
        var blocks: [TextBlock]
        var visible: TextExtent
    }

    /// The blocks of one replica by time, and the chunks in which they are.
    private struct Whereabouts: Sendable {
        var times: [UInt64] = []
        var chunks: [Int] = []

        /// The last block that begins at `time` or before.
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

    /// A scalar: its chunk, its block in that chunk, and which scalar of the block it is.
    private struct Place {
        var chunk: Int
        var block: Int
        var offset: Int
    }

    /// Every scalar that was ever inserted, in the order of arrival.
    private var store: [Unicode.Scalar] = []
    private var chunks: [Chunk] = []
    /// The chunks' indices in the order of the text.
    private var order: [Int] = []
    private var whereabouts: [ReplicaID: Whereabouts] = [:]

    /// The extent of what is to be seen.
    private(set) var visible = TextExtent.zero
    /// How many scalars are deleted, but still have their names here.
    private(set) var deletedCount = 0

    /// All blocks in the order of the text.
    var blocks: some Sequence<TextBlock> { order.lazy.flatMap { chunks[$0].blocks } }

    /// The scalars of a block that is not deleted.
    func scalars(of block: TextBlock) -> ArraySlice<Unicode.Scalar> {
        store[block.start..<(block.start + block.count)]
    }

    // MARK: Finding

    func contains(_ id: ScalarID) -> Bool { place(of: id) != nil }

    /// Whether every scalar of the range is here.
    func contains(_ range: ScalarRange) -> Bool {
        var next = range.start
        while next.time < range.endTime {
            guard let place = place(of: next) else { return false }
            next.time = self[place].endTime
        }
        return true
    }

    func isVisible(_ id: ScalarID) -> Bool { place(of: id).map { !self[$0].isDeleted } ?? false }

    /// The visible scalars of a range; those that are not here do not count.
    func visibleRanges(in range: ScalarRange) -> [ScalarRange] {
        var ranges: [ScalarRange] = []
        var next = range.start
        while next.time < range.endTime {
            guard let place = place(of: next) else {
                next.time += 1
                continue
            }
            let end = min(self[place].endTime, range.endTime)
            if !self[place].isDeleted {
                ranges.append(ScalarRange(next, count: Int(end - next.time)))
            }
            next.time = end
        }
        return ranges
    }

    /// The time after the latest scalar of a replica; 0 without any.
    func endTime(of replica: ReplicaID) -> UInt64 {
        guard let known = whereabouts[replica], let last = known.times.last else { return 0 }
        return place(of: ScalarID(time: last, replica: replica)).map { self[$0].endTime } ?? 0
    }

    /// The visible text left of a scalar, and whether the scalar itself is visible.
    func position(of id: ScalarID) -> (before: TextExtent, visible: TextExtent)? {
        guard let place = place(of: id) else { return nil }
        let block = self[place]
        let own =
            block.isDeleted
            ? .zero : TextExtent.of(CollectionOfOne(store[block.start + place.offset]))
        return (extent(before: place), own)
    }

    /// The scalars between two offsets.
    ///
    /// - Parameter range: UTF-16 offsets that are in bounds.
    /// - Returns: The scalar that ends at the lower offset, `nil` at the front, and what is in the range.
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
            // A chunk that ends at the lower offset holds the scalar on its left.
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

    /// How many scalars of a block fill that many UTF-16 units.
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

    private func place(of id: ScalarID) -> Place? {
        guard let known = whereabouts[id.replica], let index = known.index(atOrBefore: id.time)
        else { return nil }
        let chunk = known.chunks[index]
        let start = ScalarID(time: known.times[index], replica: id.replica)
        guard let block = chunks[chunk].blocks.firstIndex(where: { $0.id == start }),
            id.time < chunks[chunk].blocks[block].endTime
        else { return nil }
        return Place(chunk: chunk, block: block, offset: Int(id.time - start.time))
    }

    private subscript(_ place: Place) -> TextBlock { chunks[place.chunk].blocks[place.block] }

    private func extent(before place: Place) -> TextExtent {
        var extent = TextExtent.zero
        for index in order {
            if index == place.chunk { break }
            extent += chunks[index].visible
        }
        for block in chunks[place.chunk].blocks[..<place.block] { extent += block.visible }
        let block = self[place]
        if !block.isDeleted { extent += self.extent(of: block, offset: 0, count: place.offset) }
        return extent
    }

    /// The extent of some scalars of a visible block.
    private func extent(of block: TextBlock, offset: Int, count: Int) -> TextExtent {
        if block.visible.utf8 == block.count {
            return TextExtent(scalars: count, utf16: count, utf8: count)
        }
        return .of(store[(block.start + offset)...].prefix(count))
    }

    // MARK: Changing

    /// Inserts scalars that follow one another in time.
    ///
    /// Of those who typed at the same place without knowing of each other the later stands left, and what
    /// belongs to it stays with it: all that is right of `parent` and later than `id` is passed over.
    ///
    /// - Parameters:
    ///   - scalars: What to insert; not empty.
    ///   - id: The first one's name, which is new and later than `parent`.
    ///   - parent: The scalar to insert after, which is here; `nil` for the front.
    /// - Returns: What is visible left of the inserted scalars.
    mutating func insert(
        _ scalars: some Collection<Unicode.Scalar>,
        id: ScalarID,
        after parent: ScalarID?
    ) -> TextExtent {
        guard !order.isEmpty else {
            append(scalars, id: id, isDeleted: false, count: scalars.count)
            return .zero
        }
        // The place of the scalar that will stand right of it; one past the last block for the end.
        var next = Place(chunk: order[0], block: 0, offset: 0)
        if let parent, let place = place(of: parent) {
            next = place
            next.offset += 1
        }
        var rank = order.firstIndex(of: next.chunk) ?? 0
        while true {
            if next.block == chunks[next.chunk].blocks.count {
                guard rank + 1 < order.count else { break }
                rank += 1
                next = Place(chunk: order[rank], block: 0, offset: 0)
                continue
            }
            let block = self[next]
            if next.offset < block.count, block.id.advanced(by: next.offset) < id { break }
            // Within a block times rise: if its first scalar is later, all are.
            next.block += 1
            next.offset = 0
        }
        if next.offset > 0 {
            split(chunk: next.chunk, block: next.block, at: next.offset)
            next.block += 1
            next.offset = 0
        }
        return put(scalars, id: id, chunk: next.chunk, block: next.block)
    }

    /// Puts scalars before a block, where they are known to belong.
    private mutating func put(
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
            divideIfLong(chunk)
        }
        return before
    }

    /// Appends scalars at the end, which is how a snapshot is read.
    ///
    /// - Parameters:
    ///   - scalars: The scalars; empty for deleted ones.
    ///   - id: The first one's name, which is new.
    ///   - isDeleted: Whether they are deleted.
    ///   - count: How many there are.
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

    /// Deletes scalars, all of which are here; those that are deleted already stay so.
    ///
    /// - Returns: What disappears, piece by piece: each `before` counts without the pieces before it.
    mutating func delete(
        _ range: ScalarRange
    ) -> [(before: TextExtent, removed: TextExtent)] {
        var removals: [(before: TextExtent, removed: TextExtent)] = []
        var next = range.start
        while next.time < range.endTime, var place = place(of: next) {
            let block = self[place]
            let end = min(range.endTime, block.endTime)
            let count = Int(end - next.time)
            next.time = end
            guard !block.isDeleted else { continue }
            if place.offset > 0 {
                split(chunk: place.chunk, block: place.block, at: place.offset)
                place = Place(chunk: place.chunk, block: place.block + 1, offset: 0)
            }
            if count < self[place].count {
                split(chunk: place.chunk, block: place.block, at: count)
            }
            let before = extent(before: place)
            let removed = self[place].visible
            removals.append((before, removed))
            chunks[place.chunk].blocks[place.block].visible = .zero
            chunks[place.chunk].visible -= removed
            visible -= removed
            deletedCount += count
            joinNeighbours(of: place)
            divideIfLong(place.chunk)
        }
        return removals
    }

    private func canJoin(_ left: TextBlock, _ right: TextBlock) -> Bool {
        left.continues(with: right)
            && (left.isDeleted || left.count + right.count <= Self.blockLengthMax)
    }

    private mutating func joinNeighbours(of place: Place) {
        for index in [place.block, place.block - 1] where index >= 0 {
            guard index + 1 < chunks[place.chunk].blocks.count else { continue }
            let next = chunks[place.chunk].blocks[index + 1]
            guard canJoin(chunks[place.chunk].blocks[index], next) else { continue }
            forget(next.id)
            chunks[place.chunk].blocks[index].append(next)
            chunks[place.chunk].blocks.remove(at: index + 1)
        }
    }

    /// Cuts a block in two, which stay in one chunk: the right one is the next block.
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

    /// Cuts a chunk in two once it has too many blocks.
    private mutating func divideIfLong(_ index: Int) {
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

    // MARK: Whereabouts

    private mutating func register(_ id: ScalarID, in chunk: Int) {
        let index = whereabouts[id.replica]?.index(atOrBefore: id.time).map { $0 + 1 } ?? 0
        whereabouts[id.replica, default: Whereabouts()].times.insert(id.time, at: index)
        whereabouts[id.replica]?.chunks.insert(chunk, at: index)
    }

    private mutating func forget(_ id: ScalarID) {
        guard let index = whereabouts[id.replica]?.index(atOrBefore: id.time) else { return }
        whereabouts[id.replica]?.times.remove(at: index)
        whereabouts[id.replica]?.chunks.remove(at: index)
    }

    private mutating func relocate(_ id: ScalarID, to chunk: Int) {
        guard let index = whereabouts[id.replica]?.index(atOrBefore: id.time) else { return }
        whereabouts[id.replica]?.chunks[index] = chunk
    }
}
