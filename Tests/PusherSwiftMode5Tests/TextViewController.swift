// Written as in apps, including force casts.
// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import Foundation
import PusherSwift

/// A stand-in for UIKit's class, whose main actor the app's class inherits.
@MainActor class ViewController: NSObject {
    func viewDidLoad() {}
}

/// A stand-in for a text view.
@MainActor class TextView {
    var text: String! = ""
}

/// A shared text editor in an app for version 4 of the official client: each change sends the whole text.
class TextViewController: ViewController {
    let textView = TextView()
    let deviceId = UUID().uuidString
    var counter = ""
    var pusher: Pusher!
    var channel: PusherChannel!
    var options: PusherClientOptions!

    override func viewDidLoad() {
        super.viewDidLoad()
        listenForChanges()
    }

    func listenForChanges() {
        pusher = Pusher(key: "app-key", options: options)
        channel = pusher.subscribe("private-collabo_text")
        let _ = channel.bind(
            eventName: "client-text_update",
            callback: { (data: Any?) -> Void in
                if let data = data as? [String: AnyObject] {
                    let fromDeviceId = data["deviceId"] as! String
                    if fromDeviceId != self.deviceId {
                        let text = data["text"] as! String
                        self.textView.text = text
                        self.counter = "\(text.count)"
                    }
                }
            }
        )
        pusher.connect()
    }

    /// Unbinds, as an app's screen does when it closes: callbacks that capture it would leak it.
    func close() {
        pusher.disconnect()
        pusher.unsubscribeAll()
    }

    /// Called by the text view after user input.
    func textViewDidChange(_ text: String) {
        textView.text = text
        channel.trigger(
            eventName: "client-text_update",
            data: ["deviceId": deviceId, "text": text]
        )
    }
}

/// The members of a room, in an app whose classes have no actor.
class Room: NSObject, PusherDelegate, Authorizer, AuthRequestBuilderProtocol {
    var lines = [String]()
    var sign: (String, String) -> PusherAuth? = { _, _ in nil }
    var pusher: Pusher!
    var changed: () -> Void = {}

    func join(_ options: PusherClientOptions) {
        options.authMethod = .authorizer(authorizer: self)
        pusher = Pusher(key: "app-key", options: options)
        pusher.delegate = self
        let channel = pusher.subscribeToPresenceChannel(
            channelName: "presence-room",
            onMemberAdded: { member in self.add("\(member.userId) came") },
            onMemberRemoved: { member in self.add("\(member.userId) went") }
        )
        channel.bind(
            eventName: "pusher:subscription_succeeded",
            eventCallback: { _ in self.add("\(channel.members.count) here") }
        )
        pusher.connect()
    }

    /// Unbinds, as an app's screen does when it closes: callbacks and options that capture it would leak it.
    func leave() {
        pusher.disconnect()
        pusher.unsubscribeAll()
        pusher = nil
    }

    func add(_ line: String) {
        lines.append(line)
        changed()
    }

    func fetchAuthValue(
        socketID: String,
        channelName: String,
        completionHandler: @escaping (PusherAuth?) -> Void
    ) {
        let auth = sign(socketID, channelName)
        // On another thread, like a network response.
        DispatchQueue.global().async { completionHandler(auth) }
    }

    func requestFor(socketID: String, channelName: String) -> URLRequest? {
        URLRequest(url: URL(string: "http://127.0.0.1:1")!)
    }

    func subscribedToChannel(name: String) { add("subscribed to \(name)") }

    func failedToSubscribeToChannel(
        name: String,
        response: URLResponse?,
        data: String?,
        error: NSError?
    ) {
        add("not subscribed to \(name)")
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        switch new {
        case .connecting, .disconnecting, .disconnected: break
        case .connected: add("connected")
        case .reconnecting: add("reconnecting")
        }
    }
}
