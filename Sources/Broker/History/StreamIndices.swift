import PusherProtocol

/// Finds streams by the addresses of their channels: a hash table of indices, to which the streams have the keys.
///
/// A dictionary would hold a second copy of each address, and as much room again for those to come: more than all that
/// is remembered of a channel that was left. Slots are probed one after the other, and none is marked as deleted
/// (Knuth, "The Art of Computer Programming", section 6.4, algorithms L and R).
struct StreamIndices: Sendable {
    /// The index of a stream, or -1.
    ///
    /// Their number is a power of two, and at most half of them are taken.
    private var slots: [Int32] = []
    /// The number of streams.
    private(set) var count = 0

    /// Whether there is no stream.
    var isEmpty: Bool { count == 0 }

    /// The index of a channel's stream; `nil` if it has none.
    func index(of address: ChannelAddress, in streams: [ChannelStream?]) -> Int? {
        guard !isEmpty else { return nil }
        let index = slots[slot(of: address, in: streams)]
        return index < 0 ? nil : Int(index)
    }

    /// Adds the stream at an index; its channel has no other.
    mutating func insert(_ index: Int, in streams: [ChannelStream?]) {
        guard let address = streams[index]?.address else { return }
        count += 1
        if slots.count < 2 * count {
            let known = slots.filter { $0 >= 0 }
            slots = Array(repeating: -1, count: max(16, 2 * slots.count))
            for index in known {
                guard let address = streams[Int(index)]?.address else { continue }
                slots[slot(of: address, in: streams)] = index
            }
        }
        slots[slot(of: address, in: streams)] = Int32(index)
    }

    /// Removes the stream of a channel, ahead of its removal from `streams`.
    mutating func remove(_ address: ChannelAddress, in streams: [ChannelStream?]) {
        guard !isEmpty else { return }
        var vacant = slot(of: address, in: streams)
        guard slots[vacant] >= 0 else { return }
        slots[vacant] = -1
        count -= 1
        // What was displaced over the vacant slot moves up.
        var next = successor(vacant)
        while slots[next] >= 0, let address = streams[Int(slots[next])]?.address {
            if distance(from: firstSlot(of: address), to: next) >= distance(from: vacant, to: next)
            {
                slots.swapAt(vacant, next)
                vacant = next
            }
            next = successor(next)
        }
    }

    /// The slot of a channel's stream; the one to put it in if it has none.
    private func slot(of address: ChannelAddress, in streams: [ChannelStream?]) -> Int {
        var slot = firstSlot(of: address)
        while slots[slot] >= 0, streams[Int(slots[slot])]?.address != address {
            slot = successor(slot)
        }
        return slot
    }

    private func firstSlot(of address: ChannelAddress) -> Int {
        address.hashValue & (slots.count - 1)
    }

    private func successor(_ slot: Int) -> Int { (slot + 1) & (slots.count - 1) }

    private func distance(from first: Int, to last: Int) -> Int {
        (last - first) & (slots.count - 1)
    }
}
