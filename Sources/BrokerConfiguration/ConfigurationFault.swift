/// The source of a setting.
public enum SettingOrigin: Sendable, Hashable, CustomStringConvertible {
    /// A line of the configuration file, counted from 1.
    case line(Int, file: String)
    /// An environment variable.
    case variable(String)
    /// An option of the command line, as `--port`.
    case option(String)

    /// The source as a compiler would print it: `fanfare.yaml:12`, `FANFARE_LISTEN_PORT` or `--port`.
    public var description: String {
        switch self {
        case .line(let line, let file): "\(file):\(line)"
        case .variable(let name): name
        case .option(let name): name
        }
    }

    /// The sort key of faults: the file by line, then the environment, then the options.
    var rank: (Int, Int, String) {
        switch self {
        case .line(let line, _): (0, line, "")
        case .variable(let name): (1, 0, name)
        case .option(let name): (2, 0, name)
        }
    }
}

/// One error in a configuration, with its remedy.
public struct ConfigurationFault: Sendable, Hashable, CustomStringConvertible {
    /// The key's path, such as `apps.0.secret`; empty for a fault of the whole file.
    public var key: String
    /// The problem, worded to follow the key: `must be a port …`.
    public var problem: String
    /// The source of the setting; `nil` for a default.
    public var origin: SettingOrigin?

    /// Creates a fault.
    public init(key: String, problem: String, origin: SettingOrigin? = nil) {
        self.key = key
        self.problem = problem
        self.origin = origin
    }

    /// The source, the key and the problem, on one line.
    public var description: String {
        let place = origin.map { "\($0): " } ?? ""
        return place + (key.isEmpty ? problem : "\(key) \(problem)")
    }
}

/// All faults of a configuration, sorted by their source.
public struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// The faults; at least one.
    public let faults: [ConfigurationFault]

    /// Sorts the faults: by line of the file, then the environment, then the options.
    package init(_ faults: [ConfigurationFault]) {
        self.faults = faults.enumerated()
            .map { (rank: $0.element.origin?.rank ?? (3, 0, ""), fault: $0) }
            .sorted { a, b in
                if a.rank != b.rank { return a.rank < b.rank }
                return a.fault.offset < b.fault.offset
            }
            .map(\.fault.element)
    }

    /// One line for each fault.
    public var description: String { faults.map(\.description).joined(separator: "\n") }
}
