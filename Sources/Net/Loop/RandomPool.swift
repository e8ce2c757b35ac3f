import Glibc

/// Random numbers of the system, fetched in batches.
///
/// A system call for each number would take more time than the rest of creating a socket ID.
package struct RandomPool: RandomNumberGenerator {
    /// 256 bytes, the maximum of one call of getentropy(3).
    private static var size: Int { 32 }

    private var numbers = [UInt64](repeating: 0, count: size)
    /// The number of unused numbers, from the first on.
    private var count = 0
    /// An alternative source, for repeatable simulations.
    private let source: (() -> UInt64)?

    /// Creates a pool of the system's numbers, or of numbers of `source`.
    package init(source: (() -> UInt64)? = nil) { self.source = source }

    package mutating func next() -> UInt64 {
        if count == 0 { fill() }
        count -= 1
        // A used number must not stay in memory.
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
