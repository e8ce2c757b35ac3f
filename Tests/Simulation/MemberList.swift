/// The members of a presence channel, as a grant lists them.
struct MemberList {
    /// The number in what is told of each user.
    private(set) var marks: [Int: Int] = [:]

    /// Reads the list, which says everything twice, and how many there are.
    init(_ data: String, _ reader: Conversation) throws(Violation) {
        let parts = data.split(separator: #""hash":{"#)
        guard data.hasPrefix(#"{"presence":{"ids":["#), parts.count == 2 else {
            throw reader.broken(.presence, "read \(data)")
        }
        for (index, user) in Cast.users.enumerated() {
            let isListed = parts[0].contains(#""\#(user)""#)
            let entry = parts[1].firstRange(of: "\"\(user)\":")
            guard isListed == (entry != nil) else {
                throw reader.broken(.presence, "read \(data)")
            }
            if let entry { marks[index] = Self.mark(ofInfo: parts[1][entry.upperBound...]) }
        }
        guard data.hasSuffix(#""count":\#(marks.count)}}"#) else {
            throw reader.broken(.presence, "read \(data)")
        }
    }

    /// The number in `{"n":17}`.
    static func mark(ofInfo info: some StringProtocol) -> Int? {
        guard info.hasPrefix(#"{"n":"#) else { return nil }
        return Int(info.dropFirst(5).prefix { $0 != "}" })
    }
}
