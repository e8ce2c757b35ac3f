/// Marks a longest increasing subsequence: the rows that can stay where they are.
///
/// Patience sorting, O(n log n); a sequence that increases already costs one look at each number.
///
/// - Parameter numbers: Numbers of which none occurs twice; those that are negative do not count.
/// - Returns: For each number, whether it belongs to the subsequence.
@inlinable
func longestIncreasingSubsequence(_ numbers: UnsafeBufferPointer<Int>) -> [Bool] {
    var isKept = [Bool](repeating: false, count: numbers.count)
    /// By length, where a subsequence of that length ends lowest.
    var ends: [Int] = []
    /// For each number, the one before it in the subsequence that ends there.
    var previous = [Int](repeating: -1, count: numbers.count)
    for index in numbers.indices where numbers[index] >= 0 {
        var low = ends.count
        // Rows mostly keep their order: then the number goes on from the longest there is.
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
