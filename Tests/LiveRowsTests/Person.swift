import LiveRows
import TestRandom

/// A row of the tests.
struct Person: Identifiable, Equatable, Codable, Sendable, CustomStringConvertible {
    var id: Int
    var name: String

    init(_ id: Int, _ name: String = "") {
        self.id = id
        self.name = name.isEmpty ? "#\(id)" : name
    }

    var description: String { name }
}

extension SeededRandom {
    /// People with different ids, at most `countMax` of them.
    mutating func people(atMost countMax: Int) -> [Person] {
        let ids = Array(0..<(countMax * 2)).shuffled(using: &self)
        return ids.prefix(Int.random(in: 0...countMax, using: &self)).map { Person($0) }
    }

    /// Removes, inserts, moves and renames some people.
    mutating func change(_ people: [Person]) -> [Person] {
        var people = people
        for _ in 0..<Int.random(in: 0...(people.count / 3 + 3), using: &self) {
            let index = people.indices.randomElement(using: &self)
            switch (Int.random(in: 0..<4, using: &self), index) {
            case (0, let index?): people.remove(at: index)
            case (1, let index?):
                let person = people.remove(at: index)
                people.insert(person, at: Int.random(in: 0...people.count, using: &self))
            case (2, let index?): people[index].name += "'"
            default:
                let id = Int.random(in: 1000..<1_000_000, using: &self)
                let place = Int.random(in: 0...people.count, using: &self)
                if !people.contains(where: { $0.id == id }) { people.insert(Person(id), at: place) }
            }
        }
        return people
    }

    /// Returns an operation, also with rows and anchors that do not exist.
    mutating func operation(on people: [Person]) -> ListOperation<Person> {
        let unknownID = Int.random(in: 500_000..<600_000, using: &self)
        let id = people.randomElement(using: &self)?.id ?? unknownID
        let anchor: Int? =
            switch Int.random(in: 0..<8, using: &self) {
            case 0: nil
            case 1: unknownID + 1_000_000
            default: people.randomElement(using: &self)?.id
            }
        switch Int.random(in: 0..<6, using: &self) {
        case 0: return .remove(id)
        case 1: return .update(Person(id, "new \(unknownID)"))
        case 2: return .put(Person(id, "put \(unknownID)"), after: anchor)
        case 3: return .put(Person(unknownID), after: anchor)
        default: return .move(id, after: anchor)
        }
    }
}
