#ifndef FANFARE_CSQLITE_H
#define FANFARE_CSQLITE_H

#include <sqlite3.h>

/* Has SQLite copy what is bound: its own macro for that is a cast that Swift cannot see. */
static inline int shim_sqlite3_bind_text(sqlite3_stmt *statement, int index, const char *text, int length) {
    return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}

static inline int shim_sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int length) {
    return sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

#endif
