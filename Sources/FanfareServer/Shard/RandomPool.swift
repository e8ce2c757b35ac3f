import Glibc

/// The system's random numbers, fetched a few at a time: a call to the kernel for each would cost every connection more
/// than all else about its socket ID.
package struct RandomPool: RandomNumberGenerator {
    /// 256 bytes, the most that getentropy(3) gives at once.
    private static var size: Int { 32 }

    private var numbers = [UInt64](repeating: 0, count: size)
    /// How many of the numbers, from the first, are left.
    private var count = 0
    /// Where the numbers come from instead: whatever calls this can be repeated.
    private let source: (() -> UInt64)?

    /// Makes a pool of the system's numbers, or in a simulation of those from `source`.
    package init(source: (() -> UInt64)? = nil) { self.source = source }

    package mutating func next() -> UInt64 {
        if count == 0 { fill() }
        count -= 1
        // One that was handed out must not be found in memory.
        defer { numbers[count] = 0 }
        return numbers[count]
    }

    private mutating func fill() {
        count = Self.size
        if let source {
            for index in numbers.indices { numbers[index] = source() }
            return
        }
        let status = numbers.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) }
        precondition(status == 0, "the kernel has no random numbers")
    }
}
