internal import FanfareClient
public import Foundation

/// What lets one connection into one channel: the signature of the app's backend, and what was signed with it.
public final class PusherAuth: NSObject, Sendable {
    /// The app's key, a colon and the signature.
    public let auth: String
    /// Who joins a presence channel: the JSON text that was signed, to the letter.
    public let channelData: String?
    /// The key of an encrypted channel's events: 32 bytes as base64.
    public let sharedSecret: String?

    /// Takes what a backend has signed.
    ///
    /// - Parameters:
    ///   - auth: The app's key, a colon and the signature.
    ///   - channelData: Who joins a presence channel, as the JSON text that was signed.
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

/// How private channels are authorised.
public enum AuthMethod {
    /// By an endpoint of the app's backend, which gets a form of `socket_id` and `channel_name`.
    case endpoint(authEndpoint: String)
    /// By a request of the app's own making, which is answered as an endpoint answers.
    case authRequestBuilder(authRequestBuilder: any AuthRequestBuilderProtocol)
    /// By the app itself, in whatever way it has.
    case authorizer(authorizer: any Authorizer)
    /// By this client, with the app's secret: for tests alone, since a secret in an app is none.
    case inline(secret: String)
    /// They are not: only public channels can be subscribed to.
    case noMethod
}

/// Makes the requests that authorise a client; asked on the main queue.
@preconcurrency @MainActor
public protocol AuthRequestBuilderProtocol: AnyObject {
    /// Makes the request for one channel.
    ///
    /// - Parameters:
    ///   - socketID: What the broker calls the connection.
    ///   - channelName: The channel's name.
    /// - Returns: The request; `nil` refuses the channel.
    func requestFor(socketID: String, channelName: String) -> URLRequest?

    /// Makes the request for one channel, as version 4 asked; asked when the other one makes none.
    ///
    /// - Parameters:
    ///   - socketID: What the broker calls the connection.
    ///   - channel: The channel.
    /// - Returns: The request; `nil` refuses the channel.
    func requestFor(socketID: String, channel: PusherChannel) -> NSMutableURLRequest?
}

extension AuthRequestBuilderProtocol {
    /// Makes no request.
    public func requestFor(
        socketID: String,
        channel: PusherChannel
    ) -> NSMutableURLRequest? { nil }

    /// Makes no request.
    public func requestFor(socketID: String, channelName: String) -> URLRequest? { nil }
}

/// Authorises a client in a way of its own; asked on the main queue.
@preconcurrency @MainActor
public protocol Authorizer: AnyObject {
    /// Gets what lets the client into one channel.
    ///
    /// - Parameters:
    ///   - socketID: What the broker calls the connection.
    ///   - channelName: The channel's name.
    ///   - completionHandler: Takes it, from any thread, once; `nil` refuses the channel.
    func fetchAuthValue(
        socketID: String,
        channelName: String,
        completionHandler: @escaping (PusherAuth?) -> Void
    )
}
