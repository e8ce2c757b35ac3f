/// Returns a longest increasing subsequence: the rows that do not move.
///
/// It uses patience sorting: O(n log n), and O(n) for a sequence that is already increasing.
///
/// - Parameter numbers: Distinct numbers; negative ones are ignored.
/// - Returns: For each number, whether it is part of the subsequence.
@inlinable
func longestIncreasingSubsequence(_ numbers: UnsafeBufferPointer<Int>) -> [Bool] {
    var isKept = [Bool](repeating: false, count: numbers.count)
    /// For each length, the index of the smallest number at which a subsequence of that length ends.
    var ends: [Int] = []
    /// For each number, the index of its predecessor in the subsequence.
    var previous = [Int](repeating: -1, count: numbers.count)
    for index in numbers.indices where numbers[index] >= 0 {
        var low = ends.count
        // The fast path: rows mostly keep their order, so the number extends the longest subsequence.
        if let last = ends.last, numbers[last] > numbers[index] {
            low = 0
            var high = ends.count - 1
            while low < high {
                let middle = (low + high) / 2
                if numbers[ends[middle]] < numbers[index] {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
        }
        if low > 0 { previous[index] = ends[low - 1] }
        if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var next = ends.last ?? -1
    while next >= 0 {
        isKept[next] = true
        next = previous[next]
    }
    return isKept
}
