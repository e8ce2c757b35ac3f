import DemoSite
import GRDB

extension Contact {
    /// The contacts, the number of their changes, and initial contacts.
    static let migration = Migration("createContacts") { database in
        try database.execute(
            sql: """
                CREATE TABLE Contacts (
                    id TEXT NOT NULL PRIMARY KEY,
                    name TEXT NOT NULL,
                    phone TEXT NOT NULL,
                    email TEXT NOT NULL,
                    note TEXT NOT NULL
                );
                CREATE TABLE ContactsRevision (revision INTEGER NOT NULL);
                INSERT INTO ContactsRevision VALUES (1);
                """
        )
        for contact in pioneers { try contact.insert(database) }
    } down: { database in
        try database.execute(sql: "DROP TABLE Contacts; DROP TABLE ContactsRevision")
    }

    /// The initial contacts; their phone numbers and addresses are reserved for examples.
    private static var pioneers: [Contact] {
        [
            ("Ada Lovelace", "Wrote the first program, for a machine that was never built."),
            ("Alan Turing", "Asks whether machines can think."),
            ("Annie Easley", "Batteries, rockets, and the code for both."),
            ("Barbara Liskov", "Anything she can do, her subtypes can do."),
            ("Edsger Dijkstra", "Knows the shortest way."),
            ("Grace Hopper", "Bring a moth."),
            ("Hedy Lamarr", "Changes her frequency often; call again."),
            ("Katherine Johnson", "Check the orbit with her."),
            ("Margaret Hamilton", "The software for the Moon."),
            ("Radia Perlman", "Every network needs a tree."),
            ("Sophie Wilson", "Small instructions, many of them."),
        ].enumerated().map { index, person in
            let number = 101 + index
            let first = person.0.prefix { $0 != " " }.lowercased()
            return Contact(
                id: "00000000-0000-4000-8000-000000000\(number)",
                name: person.0,
                phone: "+1 555 0\(number)",
                email: "\(first)@example.org",
                note: person.1
            )
        }
    }
}
