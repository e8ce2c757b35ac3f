import FanfareAPI
import FanfareStorage
import Foundation
import GRDB

func fanfareStorageBackend() async throws {
    struct Order: Codable, FetchableRecord, PersistableRecord {
        var id: Int
        var dish: String
    }

    let api = try BrokerAPI(
        appID: "1",
        key: "app-key",
        secret: "app-secret",
        url: "http://127.0.0.1:6001"
    )
    let database = try DatabaseQueue(path: "orders.sqlite")
    let store = try SQLiteOutbox(database)
    let outbox = BrokerOutbox(api, store: store) { report in print(report) }

    let order = Order(id: 7, dish: "Soup")
    let data = String(decoding: try JSONEncoder().encode(order), as: UTF8.self)
    let event = try outbox.event("ordered", on: "orders", text: data)
    try await database.write { database in
        try order.insert(database)
        try store.append(event, in: database)
    }
}
