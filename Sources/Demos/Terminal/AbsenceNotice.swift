import FanfareClient

extension Continuity {
    /// The text for a user who was offline; `nil` if there is nothing to report.
    var notice: String? {
        switch self {
        case .resumed(let count) where count > 0:
            "\(Self.events(count)) while you were away"
        case .gap(let gap) where gap.reason == .unknownStream:
            "the broker has lost its history, reloaded"
        case .gap(let gap):
            "history expired, reloaded"
                + (gap.missed.map { " (\(Self.events($0)) missed)" } ?? "")
        case .began, .rewound, .resumed, .unknown: nil
        }
    }

    private static func events(_ count: Int) -> String {
        count == 1 ? "1 event" : "\(count) events"
    }
}
