/// A change of the list: what a request is answered with, and the data of the event that tells everybody.
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
