/// The members of a presence channel, as listed in a grant.
struct MemberList {
    /// The mark in each user's `user_info`.
    private(set) var marks: [Int: Int] = [:]

    /// Parses the list, and checks that IDs, hash and count agree.
    init(_ data: String, _ reader: ClientModel) throws(Violation) {
        let parts = data.split(separator: #""hash":{"#)
        guard data.hasPrefix(#"{"presence":{"ids":["#), parts.count == 2 else {
            throw reader.broken(.presence, "read \(data)")
        }
        for (index, user) in Scenario.users.enumerated() {
            let isListed = parts[0].contains(#""\#(user)""#)
            let entry = parts[1].firstRange(of: "\"\(user)\":")
            guard isListed == (entry != nil) else {
                throw reader.broken(.presence, "read \(data)")
            }
            if let entry { marks[index] = Self.mark(ofInfo: parts[1][entry.upperBound...]) }
        }
        guard data.contains(#""count":\#(marks.count)}"#) else {
            throw reader.broken(.presence, "read \(data)")
        }
    }

    /// The number in `{"n":17}`.
    static func mark(ofInfo info: some StringProtocol) -> Int? {
        guard info.hasPrefix(#"{"n":"#) else { return nil }
        return Int(info.dropFirst(5).prefix { $0 != "}" })
    }
}
