/// Collects the faults, or the warnings, of a configuration: every check gets it, and adds what it finds.
struct FaultCollector {
    /// What was found, in this order.
    private(set) var found: [ConfigurationFault]
    /// The keys with a value out of bounds.
    private let outOfBounds: Set<String>
    /// The path of the part that is being checked; empty, or with a dot at its end.
    private var part = ""

    /// Begins with the faults of single values.
    init(bounds: [ConfigurationFault] = []) {
        found = bounds
        outOfBounds = Set(bounds.map(\.key))
    }

    /// Adds a fault of a key of the part that is being checked.
    mutating func add(_ key: String, _ problem: String) {
        found.append(ConfigurationFault(key: part + key, problem: problem))
    }

    /// Whether the value of a key, by its whole path, is within its bounds: a contradiction with another one is not reported
    /// separately.
    func isInBounds(_ key: String) -> Bool { !outOfBounds.contains(key) }

    /// Checks the items of a list, each with the keys inside it.
    ///
    /// - Parameters:
    ///   - items: The items.
    ///   - list: The list's key in the part that is being checked.
    ///   - check: Checks the item at an index.
    mutating func check<Item>(
        _ items: [Item],
        of list: String,
        _ check: (_ index: Int, Item, inout Self) -> Void
    ) {
        let outer = part
        for (index, item) in items.enumerated() {
            part = "\(outer)\(list).\(index)."
            check(index, item, &self)
        }
        part = outer
    }
}
