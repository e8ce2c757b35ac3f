/// Where a setting was written.
public enum SettingOrigin: Sendable, Hashable, CustomStringConvertible {
    /// A line of the configuration file, counted from 1.
    case line(Int, file: String)
    /// An environment variable.
    case variable(String)
    /// An option of the command line, as `--port`.
    case option(String)

    /// The place as a compiler would name it: `fanfare.yaml:12`, `FANFARE_LISTEN_PORT` or `--port`.
    public var description: String {
        switch self {
        case .line(let line, let file): "\(file):\(line)"
        case .variable(let name): name
        case .option(let name): name
        }
    }

    /// What settles the order of faults: the file by line, then the environment, then the options.
    var rank: (Int, Int, String) {
        switch self {
        case .line(let line, _): (0, line, "")
        case .variable(let name): (1, 0, name)
        case .option(let name): (2, 0, name)
        }
    }
}

/// One thing that is wrong with a configuration, and what to write instead.
public struct ConfigurationFault: Sendable, Hashable, CustomStringConvertible {
    /// The key's path, as `apps.0.secret`; empty when the fault is the file's as a whole.
    public var key: String
    /// The problem, as what follows the key in a sentence: `must be a port …`.
    public var problem: String
    /// Where it was written; `nil` when nobody wrote it.
    public var origin: SettingOrigin?

    /// Creates a fault.
    public init(key: String, problem: String, origin: SettingOrigin? = nil) {
        self.key = key
        self.problem = problem
        self.origin = origin
    }

    /// The place, the key and the problem, on one line.
    public var description: String {
        let place = origin.map { "\($0): " } ?? ""
        return place + (key.isEmpty ? problem : "\(key) \(problem)")
    }
}

/// Every fault of a configuration, in the order of their places.
public struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// The faults; at least one.
    public let faults: [ConfigurationFault]

    /// Puts the faults in order: as the file is read, then the environment, then the options.
    init(_ faults: [ConfigurationFault]) {
        self.faults = faults.enumerated()
            .map { (rank: $0.element.origin?.rank ?? (3, 0, ""), fault: $0) }
            .sorted { a, b in
                if a.rank != b.rank { return a.rank < b.rank }
                return a.fault.offset < b.fault.offset
            }
            .map(\.fault.element)
    }

    /// A line for each fault.
    public var description: String { faults.map(\.description).joined(separator: "\n") }
}
