import Glibc
package import Net

/// Shows progress on standard error: a bar on a terminal, otherwise a line every two seconds.
package struct ProgressBar {
    /// Whether nothing is shown.
    package var isHidden = false
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var label = ""
    private var shownAt: MonotonicTime?
    private var isBarShown = false
    private var isComplete = false

    package init() {}

    /// A bar is redrawn often enough to move smoothly; a log gets few lines.
    private var interval: Duration { isTerminal ? .milliseconds(100) : .seconds(2) }

    /// Shows the progress, unless it was shown less than the interval ago.
    ///
    /// The total is at least 1. The detail, the end of the line, is evaluated only if it is shown.
    package mutating func show(
        _ label: String,
        _ done: Int,
        of total: Int,
        at now: MonotonicTime,
        detail: @autoclosure () -> String = ""
    ) {
        if label != self.label {
            self.label = label
            shownAt = now
            isComplete = false
        }
        let isDue = done == total || shownAt.map { $0.duration(to: now) >= interval } ?? true
        guard isDue, !isComplete, !isHidden else { return }
        shownAt = now
        isComplete = done == total
        if isTerminal {
            Self.write("\r\u{1B}[2K" + Self.bar(label, done, of: total) + detail())
            isBarShown = true
        } else {
            Self.write(Self.line(label, done, of: total) + detail() + "\n")
        }
    }

    /// Erases the bar.
    package mutating func end() {
        if isBarShown { Self.write("\r\u{1B}[2K") }
        isBarShown = false
        label = ""
    }

    /// A bar of 30 characters between the label and the numbers.
    package static func bar(_ label: String, _ done: Int, of total: Int) -> String {
        let width = 30
        let filled = min(width, width * done / max(total, 1))
        let bar =
            String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return "\(label)  \(bar)  \(percent(done, of: total)) %  \(grouped(done))/\(grouped(total))"
    }

    /// The same without a bar.
    package static func line(_ label: String, _ done: Int, of total: Int) -> String {
        "\(label): \(grouped(done)) of \(grouped(total)) (\(percent(done, of: total)) %)"
    }

    /// Rounded down: 100 means done.
    private static func percent(_ done: Int, of total: Int) -> Int { 100 * done / max(total, 1) }

    private static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// An integer with a comma between its thousands: `1,000,000`.
package func grouped(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
        if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
        text.append(digit)
    }
    return number < 0 ? "-" + text : text
}

/// A number rounded to a number of decimal places: `0.91`.
///
/// The number is finite, and small enough for an integer once multiplied. There are 0 to 6 places. With `grouping`,
/// commas separate thousands.
package func decimal(_ number: Double, places: Int, grouping: Bool = true) -> String {
    let unit = (0..<places).reduce(1) { product, _ in product * 10 }
    let scaled = Int((abs(number) * Double(unit)).rounded())
    let whole = grouping ? grouped(scaled / unit) : String(scaled / unit)
    let sign = number < 0 && scaled > 0 ? "-" : ""
    guard places > 0 else { return sign + whole }
    let fraction = String(scaled % unit)
    return "\(sign)\(whole).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
}
