import Net
import PusherProtocol

/// The server that a benchmark measures, and what one needs to speak with it.
struct BenchSubject: Sendable {
    /// Where it is.
    var target: BenchTarget
    /// The app's key.
    var key: String
    /// The app's secret.
    var secret: AppSecret
    /// The app's id in the HTTP API.
    var appID: String
    /// The server's process; nil looks for it.
    var serverID: Int32?
    /// Which certificates of the server will do.
    var trust: TLSTrust = .system
    /// Whether each connection offers permessage-deflate.
    var offersDeflate = false
    /// How long nothing may move before a run is given up.
    var patience: Duration = .seconds(10)

    /// The message with which a connection subscribes to a channel, signed where that is needed.
    ///
    /// - Parameters:
    ///   - channel: Not one of a user.
    ///   - socketID: The connection.
    ///   - userID: Who it is on a presence channel: an id that means itself in JSON.
    /// - Returns: The message.
    func subscription(
        to channel: ChannelName,
        of socketID: SocketID,
        as userID: String? = nil
    ) -> ClientMessage {
        guard channel.kind.requiresSignature else {
            return .subscribe(channel: channel.text, auth: nil, channelData: nil)
        }
        let data = userID.map { #"{"user_id":"\#($0)"}"# }
        let auth = ChannelSignature.auth(
            socketID: socketID,
            channel: channel.text,
            channelData: data,
            key: key,
            secret: secret
        )
        return .subscribe(channel: channel.text, auth: auth, channelData: data)
    }
}
