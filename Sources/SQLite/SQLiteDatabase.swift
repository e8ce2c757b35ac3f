internal import CSQLite
internal import Dispatch

/// An open SQLite database, used by one thread at a time.
///
/// SAFETY: `@unchecked Sendable`, because only blocks on ``queue`` access the connection.
package final class SQLiteDatabase: @unchecked Sendable {
    private let queue = DispatchQueue(label: "fanfare.sqlite")
    /// `nil` after ``close()``.
    private var connection: SQLiteConnection?

    /// Opens or creates a database; throws SQLite's error.
    ///
    /// - Parameters:
    ///   - path: The file; `nil` for memory.
    ///   - busyTimeout: The time for which a statement waits for another process, in milliseconds.
    /// - Throws: SQLite's error.
    package init(path: String?, busyTimeout: Int32) throws(SQLiteError) {
        connection = try SQLiteConnection(path: path, busyTimeout: busyTimeout)
    }

    deinit { connection?.close() }

    /// Runs a block on the connection, after earlier blocks, and returns its result.
    ///
    /// - Throws: The block's error, or an error after ``close()``.
    package func access<Value>(_ body: (SQLiteConnection) throws -> Value) throws -> Value {
        try queue.sync {
            guard let connection else {
                throw SQLiteError(code: SQLITE_MISUSE, message: "the database is closed", sql: nil)
            }
            return try body(connection)
        }
    }

    /// Runs a block as a transaction, and waits for it.
    package func write<Value>(_ body: (SQLiteConnection) throws -> Value) throws -> Value {
        try access { connection in try connection.transaction { try body(connection) } }
    }

    /// Closes the file; later accesses fail.
    package func close() {
        queue.sync {
            connection?.close()
            connection = nil
        }
    }
}

/// A connection to SQLite; confined to one thread, or to the queue of its ``SQLiteDatabase``.
package struct SQLiteConnection {
    let handle: OpaquePointer

    package init(path: String?, busyTimeout: Int32) throws(SQLiteError) {
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

    package func close() { sqlite3_close_v2(handle) }

    /// The number of rows inserted, updated or deleted by the last statement.
    package var changeCount: Int { Int(sqlite3_changes(handle)) }

    /// Executes one statement with the values of its question marks, and ignores the rows that it returns.
    package func execute(_ sql: String, _ arguments: [SQLiteValue] = []) throws(SQLiteError) {
        try forEachRow(sql, arguments) { _ throws(SQLiteError) in }
    }

    /// Calls a block with each row of a query of one statement with the values of its question marks.
    ///
    /// The row is valid during the call.
    package func forEachRow(
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
    package func integer(_ sql: String, _ arguments: [SQLiteValue] = []) throws(SQLiteError)
        -> Int64?
    {
        var result: Int64?
        try forEachRow(sql, arguments) { row throws(SQLiteError) in
            if result == nil { result = row.integer(at: 0) }
        }
        return result
    }

    /// Runs a block as a transaction, and returns its result.
    ///
    /// It begins with the write lock, because a reader that becomes a writer later could not wait for another writer.
    /// It throws the block's error or SQLite's, after a rollback.
    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try execute("BEGIN IMMEDIATE")
        do {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            // Some errors, for example of a full disk, have already rolled back.
            if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
            throw error
        }
    }

    func check(_ code: Int32, _ sql: String) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(code: code, handle: handle, sql: sql) }
    }
}
