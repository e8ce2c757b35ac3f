import TestRandom

extension SeededRandom {
    /// The next of the sequence, below `bound`; 0 if that is 0.
    mutating func next(below bound: UInt64) -> UInt64 { bound == 0 ? 0 : next() % bound }
}
