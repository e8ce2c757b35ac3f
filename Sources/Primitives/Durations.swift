extension Duration {
    /// In nanoseconds, rounded up; what does not fit becomes the nearest number that does.
    public var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let rest = (attoseconds + (attoseconds > 0 ? 999_999_999 : 0)) / 1_000_000_000
        let (sum, overflowed) = whole.addingReportingOverflow(rest)
        guard !overflowed else { return rest < 0 ? .min : .max }
        return sum
    }

    /// In milliseconds, rounded towards zero; what does not fit becomes the nearest number that does.
    public var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let rest = attoseconds / 1_000_000_000_000_000
        let (sum, overflowed) = whole.addingReportingOverflow(rest)
        guard !overflowed else { return rest < 0 ? .min : .max }
        return sum
    }

    /// In seconds.
    public var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
