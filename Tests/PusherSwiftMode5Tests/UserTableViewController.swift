// Written as in apps, including force casts.
// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import Foundation
import PusherSwift

/// A stand-in for UIKit's class, whose main actor the app's class inherits.
@MainActor class TableViewController: NSObject {
    let tableView = TableView()
    func viewDidLoad() {}
}

/// Records the updates of a table view.
@MainActor class TableView {
    let calls = AsyncStream<String>.makeStream()
    func reloadData() { calls.continuation.yield("reload") }
    func moveRow(at source: Int, to target: Int) {
        calls.continuation.yield("move \(source) \(target)")
    }
    func deleteRow(at index: Int) { calls.continuation.yield("delete \(index)") }
}

/// A list of users on one device, in an app for the official client of version 4 to 9.
class UserTableViewController: TableViewController {
    var users = [NSDictionary]()
    var states = [String]()
    let deviceId = UUID().uuidString
    var port = 6001
    var pusher: Pusher!

    override func viewDidLoad() {
        super.viewDidLoad()
        users = [["id": 0, "name": "A"], ["id": 1, "name": "B"]]
        listenForChanges()
    }

    func listenForChanges() {
        let options = PusherClientOptions(host: .host("127.0.0.1"), port: port, useTLS: false)
        pusher = Pusher(key: "app-key", options: options)
        pusher.delegate = self
        let channel = pusher.subscribe("userslist")
        let _ = channel.bind(
            eventName: "addUser",
            callback: { (data: Any?) -> Void in
                if let data = data as? [String: AnyObject] {
                    if data["deviceId"] as! String == self.deviceId { return }
                    self.users.append([
                        "id": self.users.count, "name": data["name"] as! String,
                    ])
                    self.tableView.reloadData()
                }
            }
        )
        let _ = channel.bind(
            eventName: "moveUser",
            callback: { (data: Any?) -> Void in
                if let data = data as? [String: AnyObject] {
                    let (src, dest) = (data["src"] as! Int, data["dest"] as! Int)
                    self.users.insert(self.users.remove(at: src), at: dest)
                    self.tableView.moveRow(at: src, to: dest)
                }
            }
        )
        // The newer API besides the older one.
        channel.bind(eventName: "removeUser") { event in
            let data = try? JSONSerialization.jsonObject(with: Data((event.data ?? "").utf8))
            if let data = data as? [String: Any], let index = data["index"] as? Int {
                self.users.remove(at: index)
                self.tableView.deleteRow(at: index)
            }
        }
        pusher.connect()
    }

    /// Unbinds, as an app's screen does when it closes: callbacks that capture it would leak it.
    func close() {
        pusher.disconnect()
        pusher.unsubscribeAll()
    }
}

extension UserTableViewController: PusherDelegate {
    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        states.append(new.stringValue())
    }
}

/// The same in a class without an actor.
class Notebook {
    var text = ""
    let pusher: Pusher
    let closed: () -> Void

    init(port: Int, closed: @escaping () -> Void) {
        let options = PusherClientOptions(host: .host("127.0.0.1"), port: port, useTLS: false)
        pusher = Pusher(key: "app-key", options: options)
        self.closed = closed
        pusher.subscribe("notes").bind(eventName: "text") { (data: PusherEvent) -> Void in
            self.text = data.data ?? ""
        }
        let _ = pusher.bind({ (message: Any?) -> Void in
            let message = message as! [String: AnyObject]
            if message["event"] as! String == "closed" { self.closed() }
        })
        pusher.connect()
    }

    /// Unbinds, as an app's screen does when it closes: callbacks that capture it would leak it.
    func close() {
        pusher.disconnect()
        pusher.unsubscribeAll()
        pusher.unbindAll()
    }
}
