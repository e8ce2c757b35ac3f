import FanfareClient
import LiveCollections
import LiveRows

/// A row of the tests.
struct Player: Identifiable, Equatable, Codable, Sendable {
    var id: Int
    var name: String

    init(_ id: Int, _ name: String = "") {
        self.id = id
        self.name = name.isEmpty ? "#\(id)" : name
    }
}

/// The condition was not met in time.
struct Late: Error {}

/// Waits for a condition on the main actor, for a minute at most.
@MainActor func until(_ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !condition() {
        guard ContinuousClock.now < deadline else { throw Late() }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// Options without retry delays.
var impatient: ListOptions {
    var options = ListOptions()
    options.backoff = .init(floor: .zero, window: .zero, cap: .zero)
    return options
}
