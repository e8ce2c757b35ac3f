import GRDB

extension Migration {
    /// The tables of all live lists: their revisions, and the remembered mutations and removals.
    static let lists = Migration("createLists") { database in
        // IDs are integers in some lists and text in others, so these columns have no type.
        try database.execute(
            sql: """
                CREATE TABLE Lists (
                    name TEXT NOT NULL PRIMARY KEY,
                    revision INTEGER NOT NULL
                ) WITHOUT ROWID;
                CREATE TABLE ListMutations (
                    list TEXT NOT NULL,
                    mutation TEXT NOT NULL,
                    revision INTEGER NOT NULL,
                    PRIMARY KEY (list, mutation)
                ) WITHOUT ROWID;
                CREATE INDEX ListMutationsByRevision ON ListMutations (list, revision);
                CREATE TABLE ListRemovals (
                    list TEXT NOT NULL,
                    id NOT NULL,
                    predecessor,
                    revision INTEGER NOT NULL,
                    PRIMARY KEY (list, id)
                ) WITHOUT ROWID;
                CREATE INDEX ListRemovalsByRevision ON ListRemovals (list, revision);
                """
        )
    } down: { database in
        for table in ["Lists", "ListMutations", "ListRemovals"] {
            try database.execute(sql: "DROP TABLE \(table)")
        }
    }
}
