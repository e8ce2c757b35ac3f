/// The requests to the app's backend for one connection, by number.
struct Tickets {
    /// The purpose of a request.
    enum Purpose: Equatable {
        case join(String)
        case secret(String)
        case user
    }

    private var purposes: [Int: Purpose] = [:]
    private var last = 0

    /// Adds a request and returns its unique number.
    mutating func add(_ purpose: Purpose) -> Int {
        last += 1
        purposes[last] = purpose
        return last
    }

    /// Removes a request; `nil` if it was cancelled.
    mutating func remove(_ number: Int) -> Purpose? { purposes.removeValue(forKey: number) }

    /// Cancels the requests of these numbers; `nil` for all.
    mutating func cancel(_ numbers: [Int]? = nil) -> [SessionEffect] {
        let cancelled = numbers ?? purposes.keys.sorted()
        for number in cancelled { purposes[number] = nil }
        return cancelled.isEmpty ? [] : [.cancel(tickets: cancelled)]
    }
}
