import FanfareAPI
import PusherProtocol
import Testing

@Suite("The HTTP API: users") struct UsersTests {
    private func api(_ transport: RecordingTransport) throws -> BrokerAPI {
        try BrokerAPI(appID: "3", key: "key", secret: "secret", transport: transport)
    }

    @Test func anEventToAUserIsSentToTheUsersChannel() async throws {
        let transport = RecordingTransport(200, "{}")
        let api = try api(transport)
        try await api.trigger("e", toUser: "ann", data: [1])
        try await api.trigger("e", toUser: "a=@,.;_-", text: "1")
        let publications = try transport.requests.map { try TriggerRequest.parse($0.body.span) }
        #expect(publications.map(\.data) == ["[1]", "1"])
        #expect(
            publications.flatMap(\.channels).map(\.userID) == ["ann", "a=@,.;_-"]
        )
    }

    @Test func terminatingNamesTheUserInThePath() async throws {
        let transport = RecordingTransport(200, "{}")
        try await api(transport).terminateConnections(of: "a/b ü")
        let request = try #require(transport.requests.first)
        #expect(request.method == "POST")
        #expect(
            request.target.hasPrefix("/apps/3/users/a%2Fb%20%C3%BC/terminate_connections?auth_key=")
        )
        #expect(request.body.isEmpty)
    }

    @Test func anEmptyUserIsRefusedBeforeSending() async throws {
        let transport = RecordingTransport(200, "{}")
        let api = try api(transport)
        await #expect(throws: FanfareAPIError.invalidArgument("The user's id is empty")) {
            try await api.terminateConnections(of: "")
        }
        await #expect(throws: FanfareAPIError.invalidArgument("The user's id is empty")) {
            try await api.trigger("e", toUser: "", text: "1")
        }
        #expect(transport.requests.isEmpty)
    }
}
