/// The metrics of a broker at one moment.
struct MetricsSample: Equatable {
    /// A series: a metric with its labels.
    struct Series: Equatable {
        var name: String
        /// The text between the braces; empty without labels.
        var labels: String
        var value: Double
    }

    /// The series, in order.
    let series: [Series]

    /// Parses Prometheus' text format; lines that are no series are left out.
    init(_ text: String) {
        series = text.split(separator: "\n").compactMap { line in
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " "),
                let value = Double(line[line.index(after: space)...])
            else { return nil }
            let name = line[..<space]
            guard let brace = name.firstIndex(of: "{"), name.last == "}" else {
                return Series(name: String(name), labels: "", value: value)
            }
            let labels = name[name.index(after: brace)...].dropLast()
            return Series(name: String(name[..<brace]), labels: String(labels), value: value)
        }
    }

    /// The value of a metric, over all its labels; `nil` if there is none.
    subscript(name: String) -> Double? {
        let values = series.lazy.filter { $0.name == name }.map(\.value)
        return values.isEmpty ? nil : values.reduce(0, +)
    }

    /// The value of a label in the only series of a metric.
    func label(_ label: String, of name: String) -> String? {
        guard let labels = series.first(where: { $0.name == name })?.labels,
            let start = labels.firstRange(of: label + "=\"")?.upperBound
        else { return nil }
        return String(labels[start...].prefix { $0 != "\"" })
    }
}
