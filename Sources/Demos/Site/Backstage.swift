package import GRDB

/// What a demo works with: the database that all of them share, and the way to the broker.
package struct Backstage: Sendable {
    /// Open, and brought to the newest shape.
    package let database: DatabaseQueue
    /// Tells the broker of what happens.
    package let outbox: Outbox

    /// Takes both as they are.
    package init(database: DatabaseQueue, outbox: Outbox) {
        self.database = database
        self.outbox = outbox
    }
}
