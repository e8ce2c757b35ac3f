#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads what an endpoint answers.
///
/// What is wrong is said by the names of members, never by their values: those are secrets.
enum EndpointAnswer {
    /// What every answer has to be.
    static let advice = """
        The endpoint has to answer 200 and JSON: {"auth":"KEY:signature"}, with "channel_data" for presence channels, \
        "shared_secret" for encrypted ones, and "user_data" for a sign-in
        """

    private struct Members: Decodable {
        var auth: String?
        var channel_data: String?
        var shared_secret: String?
        var user_data: String?
    }

    /// What is said of one channel among many.
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

    /// Reads an answer about one channel.
    static func channel(
        _ channel: String,
        _ body: [UInt8]
    ) throws(AuthorizationFailure) -> Result<ChannelAuthorization, AuthorizationFailure> {
        authorization(try decode(Members.self, body), channel)
    }

    /// Reads an answer about many channels.
    static func channels(
        _ channels: [String],
        _ body: [UInt8]
    ) throws(AuthorizationFailure) -> ChannelAuthorizer.Answers {
        let entries = try decode([String: Entry].self, body)
        var answers: ChannelAuthorizer.Answers = [:]
        for channel in channels {
            guard let entry = entries[channel] else { continue }
            if let status = entry.status, status != 200, status != 201 {
                answers[channel] = .failure(.refused(status: status, body: ""))
            } else {
                answers[channel] = authorization(entry.data ?? entry.members, channel)
            }
        }
        return answers
    }

    /// Reads an answer about the user.
    static func user(_ body: [UInt8]) throws(AuthorizationFailure) -> UserAuthentication {
        let members = try decode(Members.self, body)
        guard let auth = members.auth, let userData = members.user_data else {
            let missing = members.auth == nil ? "auth" : "user_data"
            throw .malformed("the answer has no \"\(missing)\". \(advice)")
        }
        return UserAuthentication(auth: auth, userData: userData)
    }

    private static func authorization(
        _ members: Members,
        _ channel: String
    ) -> Result<ChannelAuthorization, AuthorizationFailure> {
        guard let auth = members.auth else {
            return .failure(.malformed("the answer about \(channel) has no \"auth\". \(advice)"))
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
            return try JSONDecoder().decode(type, from: Data(body))
        } catch DecodingError.typeMismatch(_, let context) where !context.codingPath.isEmpty {
            let member = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw .malformed(
                "\"\(member)\" of the answer is of the wrong kind: a string is needed. \(advice)"
            )
        } catch {
            throw .malformed("the answer is no JSON object. \(advice)")
        }
    }
}
