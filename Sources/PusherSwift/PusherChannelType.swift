/// The kind of a channel, by its name.
public enum PusherChannelType: Sendable {
    /// For those whom the app's backend lets in.
    case `private`
    /// The same, with a list of who is there.
    case presence
    /// For everybody.
    case normal

    /// What the name says before its first hyphen.
    public init(name: String) {
        self = PusherChannelType.type(forName: name)
    }

    /// The kind of the channel of this name.
    public static func type(forName name: String) -> PusherChannelType {
        guard name.contains("-") else { return .normal }
        switch name.prefix(while: { $0 != "-" }) {
        case "private": return .private
        case "presence": return .presence
        default: return .normal
        }
    }

    /// Whether a channel of this name has a list of who is there.
    public static func isPresenceChannel(name: String) -> Bool {
        type(forName: name) == .presence
    }
}
