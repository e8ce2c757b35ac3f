import PusherProtocol

/// Channel names sorted by their bytes, in blocks: lookup, insertion and removal take a few microseconds among a
/// million names.
///
/// A listing can continue after any name, whatever has changed meanwhile.
///
/// A name takes about 32 bytes here, besides its text, which is shared.
struct SortedNames {
    /// The maximum number of names in a block.
    ///
    /// A change moves all names after it. Long blocks are slow to change, and short ones are more blocks to search.
    static var blockCountMax: Int { 256 }

    /// No block is empty; two neighbours together have more than half of ``blockCountMax`` names.
    private var blocks: [[ChannelName]] = []
    /// The first name of each block, so that a search reads only one block.
    private var firsts: [ChannelName] = []
    /// The number of names.
    private(set) var count = 0

    /// Inserts a name.
    ///
    /// - Precondition: The name is not in the list.
    mutating func insert(_ name: ChannelName) {
        count += 1
        guard !blocks.isEmpty else {
            blocks = [[name]]
            firsts = [name]
            return
        }
        let block = indexOfBlock(for: name)
        let index = blocks[block].partitioningIndex { $0.text >= name.text }
        assert(index == blocks[block].count || blocks[block][index] != name, "a name comes once")
        blocks[block].insert(name, at: index)
        if index == 0 { firsts[block] = name }
        guard blocks[block].count > Self.blockCountMax else { return }
        // Inserting names in order leaves full blocks behind.
        let isLast = block == blocks.count - 1 && index == blocks[block].count - 1
        split(block, at: isLast ? index : blocks[block].count / 2)
    }

    /// Removes a name, if it is in the list.
    mutating func remove(_ name: ChannelName) {
        guard !blocks.isEmpty else { return }
        let block = indexOfBlock(for: name)
        let index = blocks[block].partitioningIndex { $0.text >= name.text }
        guard index < blocks[block].count, blocks[block][index] == name else { return }
        blocks[block].remove(at: index)
        count -= 1
        if let first = blocks[block].first {
            if index == 0 { firsts[block] = first }
            mergeIfShort(block)
        } else {
            blocks.remove(at: block)
            firsts.remove(at: block)
        }
    }

    /// Returns the next names that begin with `prefix`, in order, and whether there are no more.
    ///
    /// They come after `cursor`, which need not be in the list; an empty cursor means the first name, and an empty
    /// prefix all names.
    func names(
        after cursor: String,
        startingWith prefix: String,
        limit: Int
    ) -> (names: [ChannelName], isComplete: Bool) {
        var names: [ChannelName] = []
        var (block, index) = position(after: cursor, startingWith: prefix)
        while block < blocks.count {
            while index < blocks[block].count {
                let name = blocks[block][index]
                guard prefix.isEmpty || name.text.utf8.starts(with: prefix.utf8) else {
                    return (names, true)
                }
                guard names.count < limit else { return (names, false) }
                if names.isEmpty { names.reserveCapacity(min(limit, count)) }
                names.append(name)
                index += 1
            }
            block += 1
            index = 0
        }
        return (names, true)
    }

    private func position(
        after cursor: String,
        startingWith prefix: String
    ) -> (block: Int, index: Int) {
        guard !blocks.isEmpty else { return (0, 0) }
        let isBehind: (ChannelName) -> Bool =
            cursor >= prefix ? { $0.text > cursor } : { $0.text >= prefix }
        let block = max(0, firsts.partitioningIndex(where: isBehind) - 1)
        return (block, blocks[block].partitioningIndex(where: isBehind))
    }

    /// The index of the block that contains a name, or would contain it.
    private func indexOfBlock(for name: ChannelName) -> Int {
        max(0, firsts.partitioningIndex { $0.text > name.text } - 1)
    }

    private mutating func split(_ block: Int, at index: Int) {
        let upper = Array(blocks[block][index...])
        blocks[block].removeLast(upper.count)
        blocks.insert(upper, at: block + 1)
        firsts.insert(upper[0], at: block + 1)
    }

    /// Merges a short block with a neighbour, if both together are short.
    private mutating func mergeIfShort(_ block: Int) {
        guard blocks[block].count <= Self.blockCountMax / 4 else { return }
        for lower in [block, block - 1] where lower >= 0 && lower + 1 < blocks.count {
            guard blocks[lower].count + blocks[lower + 1].count <= Self.blockCountMax / 2 else {
                continue
            }
            blocks[lower] += blocks[lower + 1]
            blocks.remove(at: lower + 1)
            firsts.remove(at: lower + 1)
            return
        }
    }
}

extension Array {
    /// Returns the index of the first element that meets a condition, which all later elements also meet; the count if
    /// there is none.
    fileprivate func partitioningIndex(where meetsCondition: (Element) -> Bool) -> Int {
        var (lower, upper) = (0, count)
        while lower < upper {
            let middle = (lower + upper) / 2
            if meetsCondition(self[middle]) { upper = middle } else { lower = middle + 1 }
        }
        return lower
    }
}
