/// Finds the elements of an array by their keys: a hash table of indices, while the elements hold the keys.
///
/// A dictionary would reserve room for as many further elements, and perhaps hold a second copy of each key. That is
/// more than everything else kept of a vacant channel. Slots are probed one after the other, and none is marked as
/// deleted (Knuth, "The Art of Computer Programming", section 6.4, algorithms L and R).
struct KeyedIndices<Key: Hashable & Sendable>: Sendable {
    /// Returns the key of the element at an index that is in the table.
    typealias Keys = (Int) -> Key?

    /// The index of an element, or -1.
    ///
    /// The number of slots is a power of two, and at most half of them are occupied.
    private var slots: [Int32] = []
    /// The number of elements.
    private(set) var count = 0

    /// Whether there is no element.
    var isEmpty: Bool { count == 0 }

    /// The index of the element with a key; `nil` if there is none.
    func index(of key: Key, _ keys: Keys) -> Int? {
        guard !isEmpty else { return nil }
        let index = slots[slot(of: key, keys)]
        return index < 0 ? nil : Int(index)
    }

    /// Adds the element at an index; no other element has its key.
    mutating func insert(_ index: Int, _ keys: Keys) {
        guard let key = keys(index) else { return }
        count += 1
        if slots.count < 2 * count {
            let known = slots.filter { $0 >= 0 }
            slots = Array(repeating: -1, count: max(16, 2 * slots.count))
            for index in known {
                guard let key = keys(Int(index)) else { continue }
                slots[slot(of: key, keys)] = index
            }
        }
        slots[slot(of: key, keys)] = Int32(index)
    }

    /// Removes the element with a key, before the element is removed from the array.
    mutating func remove(_ key: Key, _ keys: Keys) {
        guard !isEmpty else { return }
        var vacant = slot(of: key, keys)
        guard slots[vacant] >= 0 else { return }
        slots[vacant] = -1
        count -= 1
        // Elements that were displaced past the vacant slot move up.
        var next = successor(vacant)
        while slots[next] >= 0, let key = keys(Int(slots[next])) {
            if distance(from: firstSlot(of: key), to: next) >= distance(from: vacant, to: next) {
                slots.swapAt(vacant, next)
                vacant = next
            }
            next = successor(next)
        }
    }

    /// The slot of the element with a key, or the slot to put it in if there is none.
    private func slot(of key: Key, _ keys: Keys) -> Int {
        var slot = firstSlot(of: key)
        while slots[slot] >= 0, keys(Int(slots[slot])) != key {
            slot = successor(slot)
        }
        return slot
    }

    private func firstSlot(of key: Key) -> Int {
        key.hashValue & (slots.count - 1)
    }

    private func successor(_ slot: Int) -> Int { (slot + 1) & (slots.count - 1) }

    private func distance(from first: Int, to last: Int) -> Int {
        (last - first) & (slots.count - 1)
    }
}
