/// An entry in the log of whoever orders the operations: what everybody is told, with its place.
public struct TextEntry: Hashable, Sendable {
    /// What happened.
    public enum Change: Hashable, Sendable {
        /// A replica edited the text.
        case batch(TextBatch)
        /// The text was compacted, and this epoch began: what came before is not to be built upon.
        case compacted(epoch: UInt64)
    }

    /// The place in the log: 1 for the first entry, one more for each that follows.
    public var serial: UInt64
    /// What happened.
    public var change: Change

    /// Puts a change at a place.
    public init(serial: UInt64, change: Change) {
        self.serial = serial
        self.change = change
    }
}

/// What somebody is told who may have missed something.
public enum TextRecovery: Hashable, Sendable {
    /// The entries that follow what was known, as many as fit; the log goes up to `serial`.
    case entries([TextEntry], serial: UInt64)
    /// The log does not go back that far.
    case snapshot(TextSnapshot)
}

/// Why the operations of a replica are not taken.
public enum TextRefusal: Error, Hashable, Sendable {
    /// They build upon what is not there: load the text, and make the same edits anew.
    case stale(reason: String)
    /// They cannot be taken, now or later: load the text and forget them.
    case invalid(reason: String)
}

extension TextRefusal: CustomStringConvertible {
    /// What is wrong and what to do, in a sentence.
    public var description: String {
        switch self {
        case .stale(let reason): "\(reason); load the text and make the edits anew"
        case .invalid(let reason): reason
        }
    }
}
