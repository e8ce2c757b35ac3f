internal import CSQLite

/// A value of a column.
package enum SQLiteValue {
    case integer(Int64)
    case text(String)
    case blob(ArraySlice<UInt8>)
    case null

    /// Binds a copy of the value to a parameter of a statement.
    func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch self {
        case .null: return sqlite3_bind_null(statement, index)
        case .integer(let number): return sqlite3_bind_int64(statement, index, number)
        case .text(let text):
            return shim_sqlite3_bind_text(statement, index, text, Int32(text.utf8.count))
        case .blob(let bytes):
            // Without an address it would be NULL.
            guard !bytes.isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
            return bytes.withUnsafeBytes {
                shim_sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count))
            }
        }
    }
}

/// The current row of a query; valid until the next.
package struct SQLiteRow {
    fileprivate let statement: OpaquePointer

    init(statement: OpaquePointer) { self.statement = statement }

    /// The number in a column; `nil` for `NULL`.
    package func integer(at column: Int32) -> Int64? {
        guard sqlite3_column_type(statement, column) != SQLITE_NULL else { return nil }
        return sqlite3_column_int64(statement, column)
    }

    /// The number in a column that is never `NULL`.
    package func integer(_ name: String) -> Int64 { sqlite3_column_int64(statement, column(name)) }

    /// Whether a column is `NULL`.
    package func isNull(_ name: String) -> Bool {
        sqlite3_column_type(statement, column(name)) == SQLITE_NULL
    }

    /// The text in a column that is never `NULL`.
    package func text(_ name: String) -> String { text(at: column(name)) ?? "" }

    /// The text in a column; `nil` for `NULL`.
    package func text(at column: Int32) -> String? {
        guard let text = sqlite3_column_text(statement, column) else { return nil }
        let count = Int(sqlite3_column_bytes(statement, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// The bytes in a column that is never `NULL`.
    package func blob(_ name: String) -> [UInt8] { blob(at: column(name)) }

    /// The bytes in a column that is never `NULL`.
    package func blob(at column: Int32) -> [UInt8] {
        withBlob(at: column) { bytes in bytes.withUnsafeBufferPointer { Array($0) } }
    }

    /// Calls `body` with the bytes in a column that is never `NULL`, without a copy.
    package func withBlob<Result>(at column: Int32, _ body: (Span<UInt8>) -> Result) -> Result {
        let bytes = UnsafeRawBufferPointer(
            start: sqlite3_column_blob(statement, column),
            count: Int(sqlite3_column_bytes(statement, column))
        )
        return body(Span(_unsafeBytes: bytes))
    }

    private func column(_ name: String) -> Int32 {
        for index in 0..<sqlite3_column_count(statement) {
            if let found = sqlite3_column_name(statement, index), String(cString: found) == name {
                return index
            }
        }
        // The schema of a damaged file: SQLite reads such a column as NULL.
        return -1
    }
}

/// An error of SQLite.
package struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// The primary result code (sqlite.org/rescode.html).
    package let code: Int32
    /// SQLite's message.
    package let message: String
    /// The statement; `nil` if there is none.
    package let sql: String?

    package init(code: Int32, message: String, sql: String?) {
        self.code = code & 0xFF
        self.message = message
        self.sql = sql
    }

    init(code: Int32, handle: OpaquePointer?, sql: String?) {
        let message = String(cString: handle.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code))
        self.init(code: code, message: message, sql: sql)
    }

    package var description: String {
        "SQLite error \(code): \(message)" + (sql.map { " - while executing `\($0)`" } ?? "")
    }
}
