import FanfareClient
import Foundation
import LiveCollections

@MainActor func guideLiveList() async throws {
    struct User: Codable, Identifiable, Equatable {
        let id: Int
        var name: String
    }

    guard let rows = URL(string: "http://127.0.0.1:4000/table/rows") else { fatalError("no URL") }
    let client = Fanfare(key: "app-key", endpoint: .plain(host: "127.0.0.1", port: 6001))
    let users = LiveList(ChannelSource<User>(channel: client.channel("userslist"), base: rows))
    client.connect()
    await users.waitUntilLive()
    users.edit { $0.append(User(id: .random(in: 1 << 32..<1 << 53), name: "Ann")) }
    for await update in users.updates {
        print(update.rows.map(\.name), update.changes)
    }
}
