import DemoSite
import LiveRows

/// A change of the list in the tutorial's format: the answer to a request and the data of an event.
///
/// The keys and types are those of the well-known tutorial, so that apps written for it work.
enum TableChange: Equatable, Sendable {
    case added(name: String, id: Int64, deviceID: String)
    case removed(id: Int64, index: Int, deviceID: String)
    case moved(Move, deviceID: String)

    /// The channel of all changes.
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
    /// Returns the tutorial's events for a commit, with the indices of a list that has applied all earlier events.
    static func events(
        of commit: ListCommit<User>,
        by device: String
    ) throws -> [OutgoingEvent] {
        try commit.steps.flatMap { changes(for: $0, by: device) }.map { change in
            OutgoingEvent(change.event, on: channel, data: try JSONText.encode(change))
        }
    }

    /// Returns the changes that are equivalent to one operation; an operation of a tutorial client is a single change.
    ///
    /// Tutorial clients can only add rows at the end and cannot update a row. Other operations therefore become a
    /// removal, an addition and a move.
    static func changes(
        for step: ListCommit<User>.Step,
        by device: String
    ) -> [TableChange] {
        switch step.operation {
        case .put(let user, _), .update(let user), .set(let user, _):
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

    /// Returns the move of a row from the end to its index in `order`; `nil` if its place is at the end.
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

/// The move of a row to the position of another, both with index and ID.
///
/// A request contains the indices that a screen showed; an event contains those at the time of the move.
struct Move: Equatable, Sendable {
    var sourceIndex: Int
    var destinationIndex: Int
    var sourceID: Int64
    var destinationID: Int64

    /// Returns the ID of the row after which to place the row at `source`; `nil` for the first position.
    func anchor(in order: [Int64], from source: Int) -> Int64? {
        let index = destination(in: order, from: source)
        var others = order
        others.remove(at: source)
        return index > 0 ? others[index - 1] : nil
    }

    /// Returns the new index: after the destination's row for a move down, otherwise before it.
    private func destination(in order: [Int64], from source: Int) -> Int {
        guard let anchor = order.firstIndex(of: destinationID) else {
            // The destination was removed meanwhile, so use the nearest index.
            return min(max(destinationIndex, 0), order.count - 1)
        }
        if anchor == source { return source }
        let draggedDown = destinationIndex > sourceIndex
        // Removing the row shifts the rows below it up by one.
        let remaining = anchor > source ? anchor - 1 : anchor
        return draggedDown ? remaining + 1 : remaining
    }
}
