/// The look of a log line.
public enum LogFormat: String, Sendable, Hashable, CaseIterable {
    /// Text on a terminal, JSON lines otherwise.
    case auto
    /// Aligned text for people; coloured on a terminal.
    case text
    /// One JSON object a line, for programs.
    case json
}
