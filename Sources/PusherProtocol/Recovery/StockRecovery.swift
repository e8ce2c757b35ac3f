/// The recovery messages to stock clients with a session token.
extension ServerMessage {
    /// The notice of a gap to a stock client.
    ///
    /// On an encrypted channel the data is `{}`, because the Java library decrypts any other data there.
    public static func gap(_ gap: RecoveryGap, on channel: ChannelName) -> ServerMessage {
        var json = JSONWriter()
        if channel.kind.isEncrypted {
            json.beginObject()
            json.endObject()
        } else {
            gap.write(to: &json)
        }
        let data = String(decoding: json.bytes, as: UTF8.self)
        return .event(ReceivedEvent(name: "pusher:gap", channel: channel.text, data: data))
    }

    /// The acknowledgement of a channel without members that a session resumes.
    ///
    /// `replay` is the number of old messages that follow; `nil` if messages are missing.
    public static func resumed(_ channel: ChannelName, replay: Int?) -> ServerMessage {
        guard !channel.kind.isEncrypted else {
            return .subscriptionSucceeded(channel: channel.text, data: "{}")
        }
        let data = replay.map { #"{"recovered":true,"replay":\#($0)}"# } ?? #"{"recovered":false}"#
        return .subscriptionSucceeded(channel: channel.text, data: data)
    }
}
