import FanfareClient
import Foundation
import LiveCollections

@MainActor func liveCollectionsArticle() async throws {
    struct User: Codable, Identifiable, Equatable {
        let id: Int
        var name: String
    }

    guard let base = URL(string: "http://127.0.0.1:4000/users") else { fatalError("no address") }
    let client = Fanfare(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
    let users = LiveList(ChannelSource<User>(channel: client.channel("users"), base: base))
    client.connect()
    await users.waitUntilLive()

    users.edit { $0.append(User(id: .random(in: 1 << 32..<1 << 53), name: "Ann")) }
    for await update in users.updates {
        print(update.rows.map(\.name), update.changes)
    }
}
