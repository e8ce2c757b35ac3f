internal import FanfareClient
public import Foundation

/// The authorisation of one connection for one channel: the backend's signature and the data signed with it.
public final class PusherAuth: NSObject, Sendable {
    /// The app's key, a colon and the signature.
    public let auth: String
    /// The member of a presence channel: exactly the JSON text that was signed.
    public let channelData: String?
    /// The key of an encrypted channel's events: 32 bytes as base64.
    public let sharedSecret: String?

    /// Creates an authorisation from a backend's signature.
    ///
    /// - Parameters:
    ///   - auth: The app's key, a colon and the signature.
    ///   - channelData: The member of a presence channel, as the JSON text that was signed.
    ///   - sharedSecret: The key of an encrypted channel's events, 32 bytes as base64.
    public init(auth: String, channelData: String? = nil, sharedSecret: String? = nil) {
        self.auth = auth
        self.channelData = channelData
        self.sharedSecret = sharedSecret
    }

    var authorization: ChannelAuthorization {
        ChannelAuthorization(auth: auth, channelData: channelData, sharedSecret: sharedSecret)
    }
}

/// The method of authorising private channels.
public enum AuthMethod {
    /// An endpoint of the app's backend, which receives a form of `socket_id` and `channel_name`.
    case endpoint(authEndpoint: String)
    /// A request built by the app; the response has the form of an endpoint's.
    case authRequestBuilder(authRequestBuilder: any AuthRequestBuilderProtocol)
    /// A custom method of the app.
    case authorizer(authorizer: any Authorizer)
    /// The client signs with the app's secret. For tests only: a secret in an app is not secret.
    case inline(secret: String)
    /// No method: only public channels can be subscribed to.
    case noMethod
}

/// Builds authorisation requests; called on the main queue.
@preconcurrency @MainActor
public protocol AuthRequestBuilderProtocol: AnyObject {
    /// Returns the request for one channel.
    ///
    /// - Parameters:
    ///   - socketID: The connection's socket ID.
    ///   - channelName: The channel's name.
    /// - Returns: The request; `nil` to refuse the channel.
    func requestFor(socketID: String, channelName: String) -> URLRequest?

    /// Returns the request for one channel, in the form of version 4; called when the other method returns `nil`.
    ///
    /// - Parameters:
    ///   - socketID: The connection's socket ID.
    ///   - channel: The channel.
    /// - Returns: The request; `nil` to refuse the channel.
    func requestFor(socketID: String, channel: PusherChannel) -> NSMutableURLRequest?
}

extension AuthRequestBuilderProtocol {
    /// Returns `nil`.
    public func requestFor(
        socketID: String,
        channel: PusherChannel
    ) -> NSMutableURLRequest? { nil }

    /// Returns `nil`.
    public func requestFor(socketID: String, channelName: String) -> URLRequest? { nil }
}

/// Authorises channels by a custom method; called on the main queue.
@preconcurrency @MainActor
public protocol Authorizer: AnyObject {
    /// Requests the authorisation of one channel.
    ///
    /// - Parameters:
    ///   - socketID: The connection's socket ID.
    ///   - channelName: The channel's name.
    ///   - completionHandler: Call it once, from any thread; `nil` refuses the channel.
    func fetchAuthValue(
        socketID: String,
        channelName: String,
        completionHandler: @escaping (PusherAuth?) -> Void
    )
}
