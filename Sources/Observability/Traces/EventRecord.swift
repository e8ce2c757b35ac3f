import Broker
import Glibc
import PusherProtocol

/// One event as a JSON object, whose text is bounded.
struct EventRecord {
    private var writer = JSONWriter()

    init(of app: AppID?) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        writer.beginObject()
        writer.name("at")
        writer.integer(time.tv_sec * 1_000 + time.tv_nsec / 1_000_000)
        guard let app else { return }
        writer.name("app")
        writer.string(app.text)
    }

    /// Ends the object and returns its text.
    mutating func finish() -> [UInt8] {
        writer.endObject()
        return writer.bytes
    }

    /// Writes an event; `false` for one that is not shown.
    mutating func write(_ event: BrokerEvent, showsData: Bool) -> Bool {
        switch event {
        case .admitted(let socketID, let peer):
            write("connected", socketID: socketID)
            write("address", peer.address)
            write("library", peer.library.isEmpty ? nil : peer.library)
        case .disconnected(let socketID): write("disconnected", socketID: socketID)
        case .signedIn(let socketID, let user):
            write("signed in", socketID: socketID, user: user)
        case .channel(let event, let address):
            write("channel", address.name.text)
            write(event, on: address.name, showsData: showsData)
        case .refused(let refusal): write(refusal)
        case .connected, .frame, .deliveriesDropped, .gapTold, .limitMet: return false
        }
        return true
    }

    private mutating func write(_ name: String, _ text: String?) {
        guard let text else { return }
        writer.name(name)
        writer.string(String(text.prefix(EventRecords.dataLengthMax)))
    }

    private mutating func write(_ kind: String, socketID: SocketID? = nil, user: UserID? = nil) {
        write("kind", kind)
        write("socket", socketID.map { "\($0)" })
        write("user", user?.text)
    }

    /// Writes what was refused, without the key that a client has sent, which may be a secret.
    private mutating func write(_ refusal: Refusal) {
        write("refused", socketID: refusal.socketID)
        for (name, text) in [
            ("channel", refusal.channel), ("subject", refusal.subject.rawValue),
            ("reason", refusal.reason), ("advice", refusal.shownAdvice),
            ("address", refusal.address), ("request", refusal.request),
        ] {
            write(name, text)
        }
        guard let code = refusal.code else { return }
        writer.name("code")
        writer.integer(code)
    }

    private mutating func write(
        _ event: ChannelEvent,
        on channel: ChannelName,
        showsData: Bool
    ) {
        switch event {
        case .occupied: write("occupied")
        case .vacated: write("vacated")
        case .subscribed(let socketID, let user):
            write("subscribed", socketID: socketID, user: user)
        case .unsubscribed(let socketID): write("unsubscribed", socketID: socketID)
        case .memberAdded(let user): write("member added", user: user)
        case .memberRemoved(let user): write("member removed", user: user)
        case .published(let publication):
            write("event", socketID: publication.except, user: channel.userID.map { UserID($0) })
            write("event", publication.name)
            write(data: publication.data, isShown: showsData)
        case .clientEvent(let event, let sender, let user):
            write("client event", socketID: sender, user: user)
            write("event", event.name)
            write(data: event.data ?? "", isShown: showsData)
        case .cacheMiss, .cacheFilled, .subscriptionCount: write("notice")
        }
    }

    private mutating func write(data: String, isShown: Bool) {
        writer.name("length")
        writer.integer(data.utf8.count)
        write("data", isShown ? data : nil)
    }
}
