import TestRandom

extension SeededRandom {
    /// Returns the next number below `bound`; 0 if `bound` is 0.
    mutating func next(below bound: UInt64) -> UInt64 { bound == 0 ? 0 : next() % bound }
}
