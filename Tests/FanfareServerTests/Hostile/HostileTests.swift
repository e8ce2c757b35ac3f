import Testing

/// Peers that do not mean well, at the real door, one after the other.
///
/// Dozens of brokers at once would hold up the tests that look at the time. Attacks that mostly wait stand beside it.
@Suite("Hostile peers", .serialized) struct HostileTests {}
