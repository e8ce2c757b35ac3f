/// A callback's place at something live; the callback ends with it.
///
/// Keep it as long as the callback is wanted, and no longer: letting go of it ends the callback.
@MainActor public final class Observation<Update> {
    private var perform: ((Update) -> Void)?

    init(_ perform: @escaping (Update) -> Void) { self.perform = perform }

    /// Whether the callback may still be called.
    public var isActive: Bool { perform != nil }

    /// Ends the callback: once this returns it is not called any more.
    public func cancel() { perform = nil }

    func tell(_ update: Update) { perform?(update) }
}

/// Those who want to be told, in the order in which they came.
@MainActor struct Observers<Update> {
    private struct Place { weak var observation: Observation<Update>? }

    private var places: [Place] = []

    mutating func add(_ perform: @escaping (Update) -> Void) -> Observation<Update> {
        let observation = Observation(perform)
        places.removeAll { $0.observation?.isActive != true }
        places.append(Place(observation: observation))
        return observation
    }

    /// Those who are there now; while they are told, others may come and go.
    var present: [Observation<Update>] { places.compactMap(\.observation) }
}
