/// Why a command cannot do what it was asked, in a line or two that say what to do; exit code 1.
struct Refusal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
