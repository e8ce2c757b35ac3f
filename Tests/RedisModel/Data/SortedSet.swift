/// A sorted set of Redis with integers as scores: by score, then by bytes.
package struct SortedSet: Sendable {
    package struct Entry: Comparable, Sendable {
        package var score: Int64
        package var member: ByteString

        package static func < (left: Entry, right: Entry) -> Bool {
            left.score == right.score ? left.member < right.member : left.score < right.score
        }
    }

    /// The entries in their order.
    package private(set) var entries: [Entry] = []
    private var scores: [ByteString: Int64] = [:]

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    package var count: Int { entries.count }

    /// A member's score; nil removes the member.
    package subscript(member: ByteString) -> Int64? {
        get { scores[member] }
        set {
            if let score = scores[member] {
                entries.remove(at: index(of: Entry(score: score, member: member)))
            }
            scores[member] = newValue
            guard let newValue else { return }
            let entry = Entry(score: newValue, member: member)
            entries.insert(entry, at: index(of: entry))
        }
    }

    /// Removes a member; returns whether there was one.
    package mutating func remove(_ member: ByteString) -> Bool {
        guard scores[member] != nil else { return false }
        self[member] = nil
        return true
    }

    /// The members with at most this score, in their order.
    package func members(upTo score: Int64, limit: Int) -> [ByteString] {
        entries.prefix { $0.score <= score }.prefix(limit).map(\.member)
    }

    /// The first index whose entry is not less.
    private func index(of entry: Entry) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
