import FanfareClient

extension Continuity {
    /// What a user who was away is told; `nil` if there is nothing to tell.
    var notice: String? {
        switch self {
        case .resumed(let count) where count > 0:
            "\(Self.changes(count)) while you were away"
        case .gap(let gap) where gap.reason == .unknownStream:
            "the broker has lost its history, loaded anew"
        case .gap(let gap):
            (gap.missed.map { "\(Self.changes($0)) while you were away, " } ?? "")
                + "history expired, loaded anew"
        case .began, .resumed, .unknown: nil
        }
    }

    private static func changes(_ count: Int) -> String {
        count == 1 ? "1 change" : "\(count) changes"
    }
}
