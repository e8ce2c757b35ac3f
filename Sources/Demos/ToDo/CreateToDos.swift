import DemoSite
import GRDB

extension ToDo {
    /// The to-dos, with constraints that apply to every writer of the database.
    static let migration = Migration("createToDos") { database in
        try database.execute(sql: tables)
        try database.execute(sql: triggers)
        try database.execute(sql: firstToDos)
    } down: { database in
        try database.execute(
            sql: "DROP TABLE ToDos; DROP TABLE ToDoVersion; DROP TABLE ToDoMutations"
        )
    }

    // AUTOINCREMENT: a late edit of a deleted to-do must not apply to another one with the same ID.
    private static let tables = """
        CREATE TABLE ToDos (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            title TEXT NOT NULL CHECK (length(trim(title)) > 0 AND length(title) <= \(ToDo.titleLengthMax)),
            due TEXT CHECK (due IS NULL OR date(due, '+0 days') IS due),
            isDone BOOLEAN NOT NULL DEFAULT 0 CHECK (isDone IN (0, 1)),
            doneAt TEXT
        );
        CREATE TABLE ToDoVersion (version INTEGER NOT NULL);
        INSERT INTO ToDoVersion VALUES (1);
        CREATE TABLE ToDoMutations (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            mutation TEXT NOT NULL UNIQUE
        );
        """

    private static let triggers = """
        CREATE TRIGGER toDosFull BEFORE INSERT ON ToDos
        WHEN (SELECT COUNT(*) FROM ToDos) >= \(ToDo.countMax) BEGIN
            SELECT RAISE(ABORT, 'The list is full: it takes \(ToDo.countMax) to-dos at most.');
        END;
        CREATE TRIGGER toDoInserted AFTER INSERT ON ToDos BEGIN
            UPDATE ToDoVersion SET version = version + 1;
            UPDATE ToDos SET doneAt = strftime('%Y-%m-%d %H:%M:%f', 'now')
                WHERE id = NEW.id AND isDone = 1 AND doneAt IS NULL;
        END;
        CREATE TRIGGER toDoUpdated AFTER UPDATE ON ToDos BEGIN
            UPDATE ToDoVersion SET version = version + 1;
        END;
        CREATE TRIGGER toDoCompleted AFTER UPDATE OF isDone ON ToDos WHEN NEW.isDone <> OLD.isDone BEGIN
            UPDATE ToDos SET doneAt = iif(NEW.isDone, strftime('%Y-%m-%d %H:%M:%f', 'now'), NULL)
                WHERE id = NEW.id;
        END;
        CREATE TRIGGER toDoDeleted AFTER DELETE ON ToDos BEGIN
            UPDATE ToDoVersion SET version = version + 1;
        END;
        """

    private static let firstToDos = """
        INSERT INTO ToDos (title, due) VALUES
            ('Water the tomatoes', date('now')),
            ('Return the library books', date('now', '-1 day')),
            ('Book the night train', date('now', '+3 days')),
            ('Call Grandma', date('now', '+1 day')),
            ('Learn to juggle', NULL);
        INSERT INTO ToDos (title, due, isDone, doneAt) VALUES
            ('Mend the bicycle', date('now', '-2 days'), 1, strftime('%Y-%m-%d %H:%M:%f', 'now', '-1 day'));
        """
}
