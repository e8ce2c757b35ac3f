import Archive
public import BrokerConfiguration
import Primitives

extension Configuration {
    /// What the broker's files say about the clock of this machine: a start logs the same.
    ///
    /// Reads the files, without a change to them.
    ///
    /// - Returns: A warning for each file by which the clock was set, with both times.
    public func clockWarnings() -> [ConfigurationFault] {
        let steps = [
            ("recovery.database", recovery.database.flatMap { CalendarStep(ofArchiveAt: $0) }),
            ("recovery.spool", recovery.spool.flatMap { CalendarStep(ofSpoolAt: $0) }),
        ]
        return steps.compactMap { key, step in
            guard let step else { return nil }
            let (expected, actual) = (Self.text(step.expected), Self.text(step.actual))
            let direction = step.actual < step.expected ? "behind" : "ahead"
            return ConfigurationFault(
                key: key,
                problem: "shows that the clock is \(direction): it says \(actual), and by the file "
                    + "it is \(expected) or later; compare it with another clock. The ages of "
                    + "stored messages are counted without the difference"
            )
        }
    }

    private static func text(_ milliseconds: Int64) -> String {
        Timestamp(milliseconds.multipliedReportingOverflow(by: 1_000_000).partialValue).text
    }
}
