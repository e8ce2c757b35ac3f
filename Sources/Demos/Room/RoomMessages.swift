import DemoSite
import FanfareEncryption
import Foundation
import GRDB

/// A message of the room; the page and the subscribers receive its JSON.
struct RoomMessage: Codable, Equatable, Sendable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "RoomMessages"

    /// The maximum lengths, in characters.
    static let idLengthMax = 64
    static let userLengthMax = 64
    static let nameLengthMax = 60
    static let textLengthMax = 500

    /// The ID, created by the page that sends the message; it identifies a message that is sent again.
    let id: String
    /// The user's ID.
    let user: String
    /// The user's name at the time of sending.
    let name: String
    let text: String
    /// The time at which the backend accepted it, in seconds since 1970.
    let sentAt: Int64
}

/// The last messages of the room, and the key, which the broker does not have.
struct RoomMessages: Sendable {
    /// The encrypted channel of the messages.
    static let channel = "private-encrypted-room"
    /// The number of messages that are kept.
    static let countMax = 50

    private let database: DatabaseQueue
    private let outbox: Outbox

    init(_ environment: DemoEnvironment) {
        database = environment.database
        outbox = environment.outbox
    }

    /// Returns the key from which the key of the room's channel is derived; it never leaves the backend.
    func masterKey() async throws -> MasterKey {
        try await database.read { try Self.masterKey(in: $0) }
    }

    /// Returns the kept messages, oldest first.
    func all() async throws -> [RoomMessage] {
        try await database.read { database in
            try RoomMessage.fetchAll(database, sql: "SELECT * FROM RoomMessages ORDER BY number")
        }
    }

    /// Stores and publishes a message in one transaction; a known message is ignored.
    func add(_ message: RoomMessage) async throws {
        try await database.write { database in
            let known = RoomMessage.filter(Column("id") == message.id)
            guard try known.isEmpty(database) else { return }
            try message.insert(database)
            try database.execute(
                sql: """
                    DELETE FROM RoomMessages
                    WHERE number <= (SELECT max(number) FROM RoomMessages) - ?
                    """,
                arguments: [Self.countMax]
            )
            let key = try Self.masterKey(in: database)
            let data = key.seal(try JSONText.encode(message), on: Self.channel)
            try outbox.post(OutgoingEvent("message", on: Self.channel, data: data), in: database)
        }
    }

    private static func masterKey(in database: Database) throws -> MasterKey {
        let text = try String.fetchOne(database, sql: "SELECT masterKey FROM RoomKeys")
        return try MasterKey(base64: text ?? "")
    }
}

extension RoomMessages {
    /// The messages, and this database's own key.
    ///
    /// The key is random, because the broker would know a key that is derived from the app's secret.
    static let migration = Migration("createRoom") { database in
        try database.execute(
            sql: """
                CREATE TABLE RoomMessages (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    id TEXT NOT NULL UNIQUE,
                    user TEXT NOT NULL,
                    name TEXT NOT NULL,
                    text TEXT NOT NULL,
                    sentAt INTEGER NOT NULL
                );
                CREATE TABLE RoomKeys (masterKey TEXT NOT NULL);
                """
        )
        try database.execute(
            sql: "INSERT INTO RoomKeys VALUES (?)",
            arguments: [MasterKey.random().base64]
        )
    } down: { database in
        try database.execute(sql: "DROP TABLE RoomKeys; DROP TABLE RoomMessages")
    }
}
