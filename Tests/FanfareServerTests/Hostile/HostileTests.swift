import Testing

/// Hostile peers of a real listener, one after the other.
///
/// Serialized, since dozens of brokers at once would delay tests that measure time. Attacks that mostly wait are in
/// suites of their own.
@Suite("Hostile peers", .serialized) struct HostileTests {}
