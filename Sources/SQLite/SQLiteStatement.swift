internal import CSQLite

/// A statement that is compiled once and run often; confined to the thread of its connection.
///
/// It must be released before its connection is closed, because SQLite keeps the file open until then.
package final class SQLiteStatement {
    private let statement: OpaquePointer
    private let handle: OpaquePointer
    private let sql: String

    fileprivate init(_ statement: OpaquePointer, _ handle: OpaquePointer, sql: String) {
        self.statement = statement
        self.handle = handle
        self.sql = sql
    }

    deinit { sqlite3_finalize(statement) }

    /// Executes the statement with the values of its question marks, and ignores the rows that it returns.
    package func run(_ arguments: [SQLiteValue] = []) throws(SQLiteError) {
        try forEachRow(arguments) { _ throws(SQLiteError) in }
    }

    /// Calls a block with each row of the query with the values of its question marks; the row is valid during the
    /// call.
    package func forEachRow(
        _ arguments: [SQLiteValue] = [],
        _ body: (SQLiteRow) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        // A statement that is not reset keeps its transaction open.
        defer { sqlite3_reset(statement) }
        for (index, argument) in arguments.enumerated() {
            let code = argument.bind(to: statement, at: Int32(index + 1))
            guard code == SQLITE_OK else {
                throw SQLiteError(code: code, handle: handle, sql: sql)
            }
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: try body(SQLiteRow(statement: statement))
            case SQLITE_DONE: return
            case let code: throw SQLiteError(code: code, handle: handle, sql: sql)
            }
        }
    }
}

extension SQLiteConnection {
    /// Compiles one statement.
    package func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        var prepared: OpaquePointer?
        try check(
            sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil),
            sql
        )
        guard let prepared else {
            throw SQLiteError(code: SQLITE_MISUSE, message: "the statement is empty", sql: sql)
        }
        return SQLiteStatement(prepared, handle, sql: sql)
    }
}

extension SQLiteError {
    /// Whether the file is not a database, or one of its pages is not valid.
    package var isMalformed: Bool { code == SQLITE_CORRUPT || code == SQLITE_NOTADB }

    /// Whether only a damaged file can be the cause, if the statements are known to be correct.
    ///
    /// The schema lacks tables or columns, or there is a row that should not exist.
    package var isDamage: Bool {
        isMalformed
            || [SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_FORMAT, SQLITE_SCHEMA]
                .contains(code)
    }
}
