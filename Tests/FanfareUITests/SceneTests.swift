import FanfareClient
import FanfareTesting
import FanfareUI
import Testing

@Suite("Scenes and views", .timeLimit(.minutes(1))) @MainActor struct SceneTests {
    private let broker = ScriptedBroker()
    private let client: Fanfare

    init() { client = broker.client() }

    private func connected(_ scenes: SceneConnection...) async throws {
        for scene in scenes { scene.enterForeground(of: client) }
        try await client.waitUntilConnected()
    }

    @Test("A client is suspended when the last of its scenes goes to the background")
    func windows() async throws {
        let (left, right) = (SceneConnection(), SceneConnection())
        try await connected(left, right)
        defer { client.disconnect() }
        left.enterBackground(of: client)
        #expect(client.status.isConnected)
        left.enterBackground(of: client)
        #expect(client.status.isConnected)
        right.enterBackground(of: client)
        #expect(client.status == .suspended)
        left.enterForeground(of: client)
        try await client.waitUntilConnected()
    }

    @Test("A scene that ends no longer counts")
    func endOfScene() async throws {
        let left = SceneConnection()
        var right: SceneConnection? = SceneConnection()
        try await connected(left)
        defer { client.disconnect() }
        right?.enterForeground(of: client)
        left.enterBackground(of: client)
        #expect(client.status.isConnected)
        right = nil
        #expect(client.status == .suspended)
    }

    @Test("The end of the only scene leaves the client as it is")
    func endOfOnlyScene() async throws {
        var scene: SceneConnection? = SceneConnection()
        scene?.enterForeground(of: client)
        try await client.waitUntilConnected()
        defer { client.disconnect() }
        scene = nil
        #expect(client.status.isConnected)
    }

    @Test("A scene that is given another client no longer counts for the first")
    func otherClient() async throws {
        let (left, right) = (SceneConnection(), SceneConnection())
        try await connected(left, right)
        defer { client.disconnect() }
        let other = broker.client()
        defer { other.disconnect() }
        left.enterBackground(of: client)
        right.enterForeground(of: other)
        #expect(client.status == .suspended)
        try await other.waitUntilConnected()
    }

    @Test("A view's model is created once for each input")
    func models() {
        let holder = ModelHolder<Channel, MembersModel>()
        var count = 0
        func model(_ name: String) -> MembersModel {
            let channel = client.channel(name)
            return holder.model(for: channel) {
                count += 1
                return MembersModel(of: channel)
            }
        }
        weak let first = model("presence-a")
        #expect(model("presence-a") === first)
        #expect(count == 1)
        _ = model("presence-b")
        #expect(first == nil)
        #expect(count == 2)
    }
}
