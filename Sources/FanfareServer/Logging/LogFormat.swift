/// The format of a log line.
public enum LogFormat: String, Sendable, Hashable, CaseIterable {
    /// Text on a terminal, JSON lines otherwise.
    case auto
    /// Aligned text; coloured on a terminal.
    case text
    /// One JSON object per line.
    case json
}
