import Dispatch
import PusherSwift

func guidePusherSwift() {
    let options = PusherClientOptions(host: .host("127.0.0.1"), port: 6001, useTLS: false)
    let pusher = Pusher(key: "app-key", options: options)
    let channel = pusher.subscribe("userslist")
    let _ = channel.bind(
        eventName: "addUser",
        callback: { (data: Any?) -> Void in print(data ?? "") }
    )
    pusher.connect()
    dispatchMain()
}
