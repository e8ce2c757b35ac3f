import FanfareClient

/// The backend's events on `userslist`, in their names and types.
enum TableEvents {
    static let channel = "userslist"

    private struct Removal: Decodable { var id: Int }

    private struct Move: Decodable {
        var dest: Int
        var src_id: Int
    }

    /// The change that an event tells of; `nil` for an event of another kind.
    static func change(of event: ChannelEvent) throws(FanfareError) -> UserTable.Change? {
        switch event.name {
        case "addUser":
            return .add(try event.decode(UserTable.Row.self))
        case "removeUser":
            return .remove(id: try event.decode(Removal.self).id)
        case "moveUser":
            let move = try event.decode(Move.self)
            return .move(id: move.src_id, index: move.dest)
        default:
            return nil
        }
    }
}
