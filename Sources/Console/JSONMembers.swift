import PusherProtocol

extension JSONWriter {
    /// Writes members of an object with texts, without those that are `nil`.
    mutating func members(_ texts: [(name: String, text: String?)]) {
        for case (let key, let text?) in texts {
            name(key)
            string(text)
        }
    }

    /// Writes members of an object with numbers, without those that are `nil`.
    mutating func members(_ numbers: [(name: String, number: Int?)]) {
        for case (let key, let number?) in numbers {
            name(key)
            integer(number)
        }
    }
}
