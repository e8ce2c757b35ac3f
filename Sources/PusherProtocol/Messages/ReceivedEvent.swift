/// An event as a client receives it.
public struct ReceivedEvent: Equatable, Sendable {
    /// The event's name.
    public var name: String
    /// The channel; `nil` for an event of the connection.
    public var channel: String?
    /// The data: the string that was published, or the JSON text of a broker that sends other values.
    public var data: String?
    /// Which member of a presence channel sent a client event.
    public var userID: String?

    /// Takes the parts of an event.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - channel: The channel's name.
    ///   - data: The data.
    ///   - userID: The member who sent a client event.
    public init(name: String, channel: String?, data: String?, userID: String? = nil) {
        self.name = name
        self.channel = channel
        self.data = data
        self.userID = userID
    }

    func write(to json: inout JSONWriter) {
        json.name("event")
        json.string(name)
        for (name, value) in [("channel", channel), ("data", data), ("user_id", userID)] {
            guard let value else { continue }
            json.name(name)
            json.string(value)
        }
    }
}
