import GRDB

/// Simulates another process with an unfinished write transaction.
final class FileHolder {
    private let database: DatabaseQueue

    init(path: String) throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        database = try DatabaseQueue(path: path, configuration: configuration)
        try database.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
    }

    func release() throws {
        try database.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
    }
}
