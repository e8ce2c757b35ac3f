extension Duration {
    /// The duration in nanoseconds, rounded up and clamped.
    public var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let rest = (attoseconds + (attoseconds > 0 ? 999_999_999 : 0)) / 1_000_000_000
        let (sum, overflowed) = whole.addingReportingOverflow(rest)
        guard !overflowed else { return rest < 0 ? .min : .max }
        return sum
    }

    /// The duration in milliseconds, rounded towards zero and clamped.
    public var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let rest = attoseconds / 1_000_000_000_000_000
        let (sum, overflowed) = whole.addingReportingOverflow(rest)
        guard !overflowed else { return rest < 0 ? .min : .max }
        return sum
    }

    /// The duration in seconds.
    public var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
