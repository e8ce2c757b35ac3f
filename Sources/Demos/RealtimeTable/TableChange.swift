import LiveRows
import DemoSite

/// A change of the list as old clients know it: what a request is answered with, and the data of an event.
///
/// The keys and types are those of the well-known tutorial, so that apps written for it keep working.
enum TableChange: Equatable, Sendable {
    case added(name: String, id: Int64, deviceID: String)
    case removed(id: Int64, index: Int, deviceID: String)
    case moved(Move, deviceID: String)

    /// The channel on which every change is told.
    static let channel = "userslist"

    /// The name of the event.
    var event: String {
        switch self {
        case .added: "addUser"
        case .removed: "removeUser"
        case .moved: "moveUser"
        }
    }
}

extension TableChange {
    /// The old events that tell of a commit; indices are those that a list has which has followed every event so far.
    static func announcements(
        of commit: ListCommit<User>,
        by device: String
    ) throws -> [Announcement] {
        try commit.steps.flatMap { changes(telling: $0, by: device) }.map { change in
            Announcement(change.event, on: channel, data: try JSONText.encode(change))
        }
    }

    /// The changes that together amount to one operation, the first of which is its own when an old client made it.
    ///
    /// Old clients can add a row at the end only, and cannot change one: what they have no word for is a removal, an
    /// addition and a move.
    static func changes(
        telling step: ListCommit<User>.Step,
        by device: String
    ) -> [TableChange] {
        switch step.operation {
        case .put(let user, _), .update(let user):
            let old = step.before.firstIndex(of: user.id)
            let removal = old.map { TableChange.removed(id: user.id, index: $0, deviceID: device) }
            let addition = TableChange.added(name: user.name, id: user.id, deviceID: device)
            return [removal, addition, placement(of: user.id, in: step.after, by: device)]
                .compactMap(\.self)
        case .move(let id, _):
            guard let source = step.before.firstIndex(of: id),
                let destination = step.after.firstIndex(of: id)
            else { return [] }
            let move = Move(
                sourceIndex: source,
                destinationIndex: destination,
                sourceID: id,
                destinationID: step.before[destination]
            )
            return [.moved(move, deviceID: device)]
        case .remove(let id):
            guard let index = step.before.firstIndex(of: id) else { return [] }
            return [.removed(id: id, index: index, deviceID: device)]
        }
    }

    /// The move of a row from the end to where it is in `order`; `nil` when it is at the end.
    private static func placement(
        of id: Int64,
        in order: [Int64],
        by device: String
    ) -> TableChange? {
        guard let index = order.firstIndex(of: id), index < order.count - 1 else { return nil }
        let move = Move(
            sourceIndex: order.count - 1,
            destinationIndex: index,
            sourceID: id,
            destinationID: order[index + 1]
        )
        return .moved(move, deviceID: device)
    }
}

extension TableChange: Encodable {
    private enum CodingKeys: String, CodingKey {
        case id, name, index, src, dest
        case sourceID = "src_id"
        case destinationID = "dest_id"
        case deviceID = "deviceId"
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .added(let name, let id, let deviceID):
            try fields.encode(name, forKey: .name)
            try fields.encode(id, forKey: .id)
            try fields.encode(deviceID, forKey: .deviceID)
        case .removed(let id, let index, let deviceID):
            try fields.encode(id, forKey: .id)
            try fields.encode(index, forKey: .index)
            try fields.encode(deviceID, forKey: .deviceID)
        case .moved(let move, let deviceID):
            try fields.encode(move.sourceIndex, forKey: .src)
            try fields.encode(move.destinationIndex, forKey: .dest)
            try fields.encode(move.sourceID, forKey: .sourceID)
            try fields.encode(move.destinationID, forKey: .destinationID)
            try fields.encode(deviceID, forKey: .deviceID)
        }
    }
}
