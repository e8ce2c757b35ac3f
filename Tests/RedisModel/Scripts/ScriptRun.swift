/// One call of a script, which Redis executes as a whole.
///
/// The scripts are functions in extensions, one family a file, each with the name of its Lua file.
struct ScriptRun {
    /// A published message.
    struct Announcement {
        let channel: ByteString
        let text: ByteString
    }

    var data: Keyspace
    let webhooksMax: Int
    let keys: [ByteString]
    let arguments: [ByteString]
    private(set) var announcements: [Announcement] = []
    /// The streams that the call has forgotten for the limit of channels without subscriptions.
    var forgottenStreams = 0
    /// The cached events that the call has removed before their time.
    var droppedEvents = 0

    init(_ data: consuming Keyspace, webhooksMax: Int, keys: [ByteString], arguments: [ByteString])
    {
        self.data = data
        self.webhooksMax = webhooksMax
        self.keys = keys
        self.arguments = arguments
    }

    /// The time in milliseconds since 1970, the same during the whole call.
    var time: Int64 { data.time }

    /// An argument that is a number.
    func number(_ index: Int) -> Int64 { arguments[index].integer ?? 0 }

    mutating func publish(_ text: ByteString, on channel: ByteString) {
        announcements.append(Announcement(channel: channel, text: text))
    }

    /// Calls a script by its name; nil for an unknown one.
    mutating func call(_ name: String) -> RESPValue? {
        switch name {
        case "register": register()
        case "heartbeat": heartbeat()
        case "number": number()
        case "condemn": condemn()
        case "publish": publish(opens: false)
        case "open": publish(opens: true)
        case "begin": begin()
        case "purge": purge()
        case "positions": positions()
        case "trim": trim()
        case "attach": attach()
        case "detach": detach()
        case "count": count()
        case "join": join()
        case "leave": leave()
        case "reap": reap()
        case "user": user()
        case "watch": watch()
        case "terminate": terminate()
        case "offline": offline()
        case "claim": claim()
        case "park": park()
        case "timers": timers()
        case "settle": settle()
        case "uses": uses()
        default: nil
        }
    }
}

extension ScriptRun {
    /// Removes an entry of `due` if its time has come; returns whether it has.
    mutating func takeDue(_ due: ByteString, _ item: ByteString) -> Bool {
        guard let score = data[sorted: due][item], score <= time else { return false }
        data[sorted: due][item] = nil
        return true
    }

    /// The sum of a hash's values.
    func sum(_ hash: ByteString) -> Int64 {
        data[hash: hash].values.reduce(0) { $0 + ($1.integer ?? 0) }
    }
}
