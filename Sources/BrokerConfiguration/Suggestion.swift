/// Suggests names for a misspelt one.
package enum Suggestion {
    /// Returns the candidates that are similar to a misspelt name, the closest first.
    ///
    /// - Parameters:
    ///   - name: The misspelt name, such as `lisen.port` or `port`.
    ///   - candidates: The names that exist.
    ///   - separator: The separator of the words of a name: names with the same last word are similar.
    /// - Returns: At most three; none when no candidate is similar.
    package static func closest(
        to name: String,
        among candidates: [String],
        separator: String
    ) -> [String] {
        let distanceMax = max(1, min(3, name.count / 4))
        let close = candidates.enumerated()
            .map { (distance: distance(name, $0.element), index: $0.offset) }
            .filter { $0.distance <= distanceMax }
            .min { ($0.distance, $0.index) < ($1.distance, $1.index) }
        if let close { return [candidates[close.index]] }
        // The right name in the wrong section: `port` for `listen.port`.
        let last = name.split(separator: separator).last.map(String.init) ?? name
        return Array(candidates.filter { $0.hasSuffix(separator + last) }.prefix(3))
    }

    /// The edit distance: the minimum number of insertions, deletions, substitutions and swaps of neighbours
    /// (Damerau–Levenshtein).
    static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.lowercased())
        let b = Array(b.lowercased())
        // Rows of the table of distances between the prefixes of both.
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                let replaced = last[j] + (a[i] == b[j] ? 0 : 1)
                var least = min(replaced, last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    least = min(least, beforeLast[j - 1] + 1)
                }
                row.append(least)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
