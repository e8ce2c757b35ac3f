/// A script, whose first line is a shebang with its flags.
struct Script: Sendable {
    /// What Lua compiles: the source from the end of the first line on, so that lines keep their numbers.
    let body: ByteString
    /// Whether the script also runs without memory.
    let allowsOutOfMemory: Bool

    /// Why a source is refused.
    struct Refusal: Error {
        let text: ByteString
    }

    init(_ source: ByteString) throws(Refusal) {
        let end = source.bytes.firstIndex(of: UInt8(ascii: "\n")) ?? source.count
        let shebang = ByteString(Array(source.bytes[..<end])).description
        var words = shebang.split(separator: " ")
        guard words.first == "#!lua" else {
            throw Refusal(text: "ERR the model has no scripts without the shebang #!lua")
        }
        words.removeFirst()
        var flags: [Substring] = []
        for word in words {
            guard word.hasPrefix("flags=") else {
                throw Refusal(text: "ERR Unknown lua shebang option: \(String(word))")
            }
            flags += word.dropFirst(6).split(separator: ",")
        }
        if let unknown = flags.first(where: { $0 != "allow-oom" }) {
            throw Refusal(text: "ERR Unexpected flag in script shebang: \(String(unknown))")
        }
        allowsOutOfMemory = flags.contains("allow-oom")
        body = ByteString(Array(source.bytes[end...]))
    }
}
