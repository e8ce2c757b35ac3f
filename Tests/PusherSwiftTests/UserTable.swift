import FanfareAPI
import Foundation
import PusherSwift

/// A list of users on one device, as in apps for the official client: dictionaries, casts, and callbacks of the older
/// API.
@MainActor
final class UserTable {
    let deviceId = UUID().uuidString
    let pusher: Pusher
    private(set) var users: [NSDictionary]
    /// The updates of a table view.
    private(set) var calls: [String] = []
    private let changes = AsyncStream.makeStream(of: Void.self)

    var names: [String] { users.compactMap { $0["name"] as? String } }

    init(key: String, options: PusherClientOptions, users: [NSDictionary]) {
        pusher = Pusher(key: key, options: options)
        self.users = users
        listenForChanges()
    }

    private func listenForChanges() {
        let channel = pusher.subscribe("userslist")
        let _ = channel.bind(
            eventName: "addUser",
            callback: { (data: Any?) -> Void in
                defer { self.changes.continuation.yield() }
                if let data = data as? [String: AnyObject] {
                    guard data["deviceId"] as? String != self.deviceId else { return }
                    if let name = data["name"] as? String {
                        self.users.append(["id": data["id"] as? Int ?? -1, "name": name])
                        self.calls.append("reload")
                    }
                }
            }
        )
        let _ = channel.bind(
            eventName: "removeUser",
            callback: { (data: Any?) -> Void in
                defer { self.changes.continuation.yield() }
                if let data = data as? [String: AnyObject] {
                    guard data["deviceId"] as? String != self.deviceId else { return }
                    if let index = data["index"] as? Int {
                        self.users.remove(at: index)
                        self.calls.append("delete \(index)")
                    }
                }
            }
        )
        let _ = channel.bind(
            eventName: "moveUser",
            callback: { (data: Any?) -> Void in
                defer { self.changes.continuation.yield() }
                if let data = data as? [String: AnyObject] {
                    guard data["deviceId"] as? String != self.deviceId else { return }
                    if let src = data["src"] as? Int, let dest = data["dest"] as? Int {
                        self.users.insert(self.users.remove(at: src), at: dest)
                        self.calls.append("move \(src) \(dest)")
                    }
                }
            }
        )
        pusher.connect()
    }

    func append(_ name: String, id: Int) { users.append(["id": id, "name": name]) }

    /// Unbinds, as an app's screen does when it closes: callbacks that capture it would leak it.
    func close() {
        pusher.disconnect()
        pusher.unsubscribeAll()
    }

    /// Waits until this many events have been received, including own ones.
    func take(_ count: Int) async {
        var taken = 0
        for await _ in changes.stream {
            taken += 1
            if taken == count { return }
        }
    }
}

/// The list's backend: stores the rows, and sends every change to all devices.
struct UserBackend {
    let api: BrokerAPI

    struct Addition: Codable {
        var name, deviceId: String
        var id: Int
    }

    struct Removal: Codable {
        var id, index: Int
        var deviceId: String
    }

    struct Move: Codable {
        var src, dest, srcId, destId: Int
        var deviceId: String
        enum CodingKeys: String, CodingKey {
            case src, dest, deviceId
            case srcId = "src_id"
            case destId = "dest_id"
        }
    }

    func add(_ name: String, id: Int, from deviceId: String) async throws {
        try await api.trigger(
            "addUser",
            on: "userslist",
            data: Addition(name: name, deviceId: deviceId, id: id)
        )
    }

    func remove(_ id: Int, at index: Int, from deviceId: String) async throws {
        try await api.trigger(
            "removeUser",
            on: "userslist",
            data: Removal(id: id, index: index, deviceId: deviceId)
        )
    }

    func move(_ src: Int, to dest: Int, from deviceId: String) async throws {
        try await api.trigger(
            "moveUser",
            on: "userslist",
            data: Move(src: src, dest: dest, srcId: 1, destId: 2, deviceId: deviceId)
        )
    }
}
