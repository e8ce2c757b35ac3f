#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Parses the responses of an authorisation endpoint.
///
/// Errors mention the names of members, never their values: the values are secret.
enum AuthorizationResponse {
    /// The expected form of every response.
    static let advice = """
        The endpoint must answer 200 and JSON: {"auth":"KEY:signature"}, with "channel_data" for presence channels, \
        "shared_secret" for encrypted ones, and "user_data" for a sign-in
        """

    private struct Members: Decodable {
        var auth: String?
        var channel_data: String?
        var shared_secret: String?
        var user_data: String?
    }

    /// One channel's entry in a response for several.
    private struct Entry: Decodable {
        var status: Int?
        var data: Members?
        var members: Members

        private enum Keys: CodingKey { case status, data }

        init(from decoder: any Decoder) throws {
            let keyed = try decoder.container(keyedBy: Keys.self)
            status = try? keyed.decodeIfPresent(Int.self, forKey: .status)
            data = try keyed.decodeIfPresent(Members.self, forKey: .data)
            members = try Members(from: decoder)
        }
    }

    /// Parses a response for one channel.
    static func channel(
        _ channel: String,
        _ body: [UInt8]
    ) throws(AuthorizationFailure) -> Result<ChannelAuthorization, AuthorizationFailure> {
        authorization(try decode(Members.self, body), channel)
    }

    /// Parses a response for several channels.
    static func channels(
        _ channels: [String],
        _ body: [UInt8]
    ) throws(AuthorizationFailure) -> ChannelResponses {
        let entries = try decode([String: Entry].self, body)
        var responses: ChannelResponses = [:]
        for channel in channels {
            guard let entry = entries[channel] else { continue }
            if let status = entry.status, status != 200, status != 201 {
                responses[channel] = .failure(.refused(status: status, body: ""))
            } else {
                responses[channel] = authorization(entry.data ?? entry.members, channel)
            }
        }
        return responses
    }

    /// Parses a response for a sign-in.
    static func user(_ body: [UInt8]) throws(AuthorizationFailure) -> UserAuthentication {
        let members = try decode(Members.self, body)
        guard let auth = members.auth, let userData = members.user_data else {
            let missing = members.auth == nil ? "auth" : "user_data"
            throw .malformed("the response has no \"\(missing)\". \(advice)")
        }
        return UserAuthentication(auth: auth, userData: userData)
    }

    private static func authorization(
        _ members: Members,
        _ channel: String
    ) -> Result<ChannelAuthorization, AuthorizationFailure> {
        guard let auth = members.auth else {
            return .failure(.malformed("the response for \(channel) has no \"auth\". \(advice)"))
        }
        return .success(
            ChannelAuthorization(
                auth: auth,
                channelData: members.channel_data,
                sharedSecret: members.shared_secret
            )
        )
    }

    private static func decode<Value: Decodable>(
        _ type: Value.Type,
        _ body: [UInt8]
    ) throws(AuthorizationFailure) -> Value {
        do {
            return try JSONDecoder().decode(type, repairing: Data(body))
        } catch DecodingError.typeMismatch(_, let context) where !context.codingPath.isEmpty {
            let member = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw .malformed(
                "\"\(member)\" of the response has the wrong type: expected a string. \(advice)"
            )
        } catch {
            throw .malformed("the response is not a JSON object. \(advice)")
        }
    }
}

/// The response for each requested channel.
typealias ChannelResponses = [String: Result<ChannelAuthorization, AuthorizationFailure>]
