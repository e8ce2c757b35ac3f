import Primitives
public import FanfareClient
public import Foundation
import PusherProtocol

/// The role of the app's backend, which the test takes instead: its events and its signatures.
extension ScriptedBroker {
    /// Triggers an event whose data is a value, encoded as JSON.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channel: The channel's name.
    ///   - data: The value.
    ///   - except: The socket ID of a client that must not receive the event.
    ///   - isEphemeral: Whether only current subscribers receive the event, without a number.
    ///   - encoder: The encoder.
    /// - Throws: ``FanfareTestingError/encoding(_:)`` or ``FanfareTestingError/refused(status:message:)``.
    public func trigger(
        _ event: String,
        on channel: String,
        data: some Encodable,
        except: String? = nil,
        isEphemeral: Bool = false,
        encoder: JSONEncoder = JSONEncoder()
    ) throws(FanfareTestingError) {
        let text: String
        do {
            text = String(decoding: try encoder.encode(data), as: UTF8.self)
        } catch {
            throw .encoding("\(error)")
        }
        try trigger(event, on: [channel], text: text, except: except, isEphemeral: isEphemeral)
    }

    /// Triggers an event whose data is text, on one or more channels.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - channels: The channels' names, at most 100.
    ///   - text: The data exactly as subscribers receive it.
    ///   - except: The socket ID of a client that must not receive the event.
    ///   - isEphemeral: Whether only current subscribers receive the event, without a number.
    /// - Throws: ``FanfareTestingError/refused(status:message:)``.
    public func trigger(
        _ event: String,
        on channels: [String],
        text: String,
        except: String? = nil,
        isEphemeral: Bool = false
    ) throws(FanfareTestingError) {
        var json = JSONWriter()
        json.beginObject()
        json.name("name")
        json.string(event)
        json.name("data")
        json.string(text)
        json.name("channels")
        json.beginArray()
        for channel in channels { json.string(channel) }
        json.endArray()
        if let except {
            json.name("socket_id")
            json.string(except)
        }
        if isEphemeral {
            json.name("ephemeral")
            json.boolean(true)
        }
        json.endObject()
        do throws(APIError) {
            try act { (state, now) throws(APIError) in
                let publication = try TriggerRequest.parse(
                    json.bytes.span,
                    limits: state.broker.texts
                )
                state.broker.publish(publication, at: now)
            }
        } catch {
            throw .refused(status: error.status, message: error.message)
        }
    }

    /// Triggers an event for all clients that are signed in as a user.
    ///
    /// - Parameters:
    ///   - event: The event's name, at most 200 characters.
    ///   - user: The user's ID.
    ///   - data: The value, encoded as JSON.
    /// - Throws: ``FanfareTestingError/encoding(_:)`` or ``FanfareTestingError/refused(status:message:)``.
    public func trigger(
        _ event: String,
        toUser user: String,
        data: some Encodable
    ) throws(FanfareTestingError) {
        try trigger(event, on: "#server-to-user-\(user)", data: data)
    }

    /// Closes all connections that are signed in as a user, with 4009.
    public func terminateConnections(of user: String) {
        act { state, now in state.broker.terminate(user, at: now) }
    }

    // MARK: Signatures

    /// Returns an authorizer that signs every channel with the app's secret.
    ///
    /// - Parameters:
    ///   - user: The ID of the user on presence channels; `nil` for a user named after the connection.
    ///   - info: The `user_info` sent to other members, as JSON text; `nil` for none.
    /// - Returns: The `authorization.channels` of a client's options.
    public func channelAuthorizer(
        as user: String? = nil,
        info: String? = nil
    ) -> ChannelAuthorizer {
        ChannelAuthorizer { [self] request, channel in
            let isPresence = ChannelKind(ofName: Array(channel.utf8).span).isPresence
            let member = UserDescription.member(id: user ?? request.socketID, info: info)
            return ChannelAuthorization(
                auth: try authorization(
                    of: request.socketID,
                    for: channel,
                    as: isPresence ? member : nil
                ),
                channelData: isPresence ? member : nil
            )
        }
    }

    /// Returns an authenticator that signs a user in with the app's secret.
    ///
    /// - Parameters:
    ///   - user: The user's ID.
    ///   - info: The `user_info` sent to other members, as JSON text; `nil` for none.
    ///   - watchlist: The IDs of the users to watch.
    /// - Returns: The `authorization.user` of a client's options.
    public func userAuthenticator(
        as user: String,
        info: String? = nil,
        watchlist: [String] = []
    ) -> UserAuthenticator {
        UserAuthenticator { [self] socketID in
            let userData = UserDescription.signIn(id: user, info: info, watchlist: watchlist)
            let auth = try authentication(of: socketID, as: userData)
            return UserAuthentication(auth: auth, userData: userData)
        }
    }

    /// Signs a client's subscription, like a backend's authorisation endpoint.
    ///
    /// - Parameters:
    ///   - socketID: The client's socket ID.
    ///   - channel: The channel's name.
    ///   - member: On a presence channel, an object with `user_id` and `user_info` as JSON text.
    /// - Returns: The `auth` of the response; send `member` as its `channel_data`.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)`` if the text is no socket ID.
    public func authorization(
        of socketID: String,
        for channel: String,
        as member: String? = nil
    ) throws(FanfareTestingError) -> String {
        guard let id = SocketID(socketID) else { throw .noConnection(socketID: socketID) }
        return ChannelSignature.auth(
            socketID: id,
            channel: channel,
            channelData: member,
            key: settings.key,
            secret: AppSecret(settings.secret)
        )
    }

    /// Signs a client's sign-in, like a backend's user authentication endpoint.
    ///
    /// - Parameters:
    ///   - socketID: The client's socket ID.
    ///   - userData: An object with `id` and optional `user_info` and `watchlist`, as JSON text.
    /// - Returns: The `auth` of the response; send `userData` as its `user_data`.
    /// - Throws: ``FanfareTestingError/noConnection(socketID:)`` if the text is no socket ID.
    public func authentication(
        of socketID: String,
        as userData: String
    ) throws(FanfareTestingError) -> String {
        guard let id = SocketID(socketID) else { throw .noConnection(socketID: socketID) }
        return UserSignature.auth(
            socketID: id,
            userData: userData,
            key: settings.key,
            secret: AppSecret(settings.secret)
        )
    }
}
