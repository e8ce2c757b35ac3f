internal import CSQLite
internal import Dispatch

/// An open SQLite database, used by one thread at a time.
///
/// SAFETY: `@unchecked Sendable`, because only blocks on ``queue`` touch the connection.
final class SQLiteDatabase: @unchecked Sendable {
    private let queue = DispatchQueue(label: "fanfare.sqlite")
    /// `nil` once it is closed.
    private var connection: SQLiteConnection?

    /// Opens a database, or makes it.
    ///
    /// - Parameters:
    ///   - path: The file; `nil` for memory.
    ///   - busyTimeout: How long a statement waits for another process, in milliseconds.
    /// - Throws: What SQLite said.
    init(path: String?, busyTimeout: Int32) throws(SQLiteError) {
        connection = try SQLiteConnection(path: path, busyTimeout: busyTimeout)
    }

    deinit { connection?.close() }

    /// Runs a block on the connection, after those that came before; blocks until it is done.
    ///
    /// - Parameter body: What to do.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws, and an error after ``close()``.
    func access<Value>(_ body: (SQLiteConnection) throws -> Value) throws -> Value {
        try queue.sync {
            guard let connection else {
                throw SQLiteError(code: SQLITE_MISUSE, message: "the database is closed", sql: nil)
            }
            return try body(connection)
        }
    }

    /// Runs a block whose changes are made all or not at all; blocks until it is done.
    func write<Value>(_ body: (SQLiteConnection) throws -> Value) throws -> Value {
        try access { connection in try connection.transaction { try body(connection) } }
    }

    /// Closes the file; later accesses fail.
    func close() {
        queue.sync {
            connection?.close()
            connection = nil
        }
    }
}

/// A connection to SQLite; confined to the queue of its ``SQLiteDatabase``.
struct SQLiteConnection {
    private let handle: OpaquePointer

    fileprivate init(path: String?, busyTimeout: Int32) throws(SQLiteError) {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path ?? ":memory:", &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            let error = SQLiteError(code: code, handle: opened, sql: nil)
            sqlite3_close_v2(opened)
            throw error
        }
        sqlite3_busy_timeout(opened, busyTimeout)
        handle = opened
    }

    fileprivate func close() { sqlite3_close_v2(handle) }

    /// The rows that the last change has inserted, updated or deleted.
    var changeCount: Int { Int(sqlite3_changes(handle)) }

    /// Executes a statement, and drops the rows that it returns.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - arguments: What its question marks stand for.
    /// - Throws: What SQLite said.
    func execute(_ sql: String, _ arguments: [SQLiteValue] = []) throws(SQLiteError) {
        try forEachRow(sql, arguments) { _ throws(SQLiteError) in }
    }

    /// Calls a block with each row of a query.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - arguments: What its question marks stand for.
    ///   - body: Is lent a row for the call.
    /// - Throws: What SQLite said.
    func forEachRow(
        _ sql: String,
        _ arguments: [SQLiteValue] = [],
        _ body: (SQLiteRow) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        var prepared: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &prepared, nil), sql)
        guard let statement = prepared else { return }
        defer { sqlite3_finalize(statement) }
        for (index, argument) in arguments.enumerated() {
            try check(argument.bind(to: statement, at: Int32(index + 1)), sql)
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: try body(SQLiteRow(statement: statement))
            case SQLITE_DONE: return
            case let code: throw SQLiteError(code: code, handle: handle, sql: sql)
            }
        }
    }

    /// The first column of the first row of a query; `nil` without a row, and for `NULL`.
    func integer(_ sql: String, _ arguments: [SQLiteValue] = []) throws(SQLiteError) -> Int64? {
        var result: Int64?
        try forEachRow(sql, arguments) { row throws(SQLiteError) in
            if result == nil { result = row.integer(at: 0) }
        }
        return result
    }

    /// Runs a block whose changes are made all or not at all.
    ///
    /// It begins as a writer: one that became a writer later could not wait for another.
    ///
    /// - Parameter body: What to do.
    /// - Returns: What the block returns.
    /// - Throws: What the block throws, or what SQLite said; nothing has changed then.
    func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try execute("BEGIN IMMEDIATE")
        do {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            // Some errors, such as of a full disk, have ended the transaction already.
            if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
            throw error
        }
    }

    private func check(_ code: Int32, _ sql: String) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(code: code, handle: handle, sql: sql) }
    }
}
