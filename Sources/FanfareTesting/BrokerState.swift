import Broker
import FanfareClient
import Primitives
import PusherProtocol

/// A broker as a value: what clients and backends say goes in, what clients are told comes out.
///
/// It judges with the rooms that the real broker is made of; what is left here is who is where.
struct BrokerState {
    /// What happens at a client's end of a connection.
    enum Telling {
        case text([UInt8])
        case end(TransportClosure)
    }

    /// A channel with its subscribers, in the order in which they came.
    struct Channel {
        var connections: [Int] = []
        var home = ChannelHome(on: 0)
    }

    /// The form of an app in ``App``, whose clients and backends this broker serves alone.
    let app: App
    let settings: ScriptedBroker.Settings
    var sessions: [Int: Session] = [:]
    var channels: [ChannelName: Channel] = [:]
    var homeState = HomeShardState()
    var users = UserHome()
    /// Channels that nobody may join, and why.
    var refusals: [String: (type: String, message: String, status: Int)] = [:]
    private(set) var actions: [ClientAction] = []
    /// What has come out, in order, until somebody takes it.
    private var tellings: [(connection: Int, Telling)] = []

    init(_ settings: ScriptedBroker.Settings) {
        self.settings = settings
        var limits = AppLimits()
        limits.texts.dataLengthMax = settings.dataLengthMax
        limits.membersMax = settings.membersMax
        limits.subscriptionsMax = settings.subscriptionsMax
        limits.clientEventRate = Rate(perSecond: settings.clientEventsPerSecondMax)
        limits.faultsPerMinuteMax = .max
        app = App(
            id: AppID("1"),
            key: settings.key,
            secret: AppSecret(settings.secret),
            features: AppFeatures(
                clientEvents: settings.allowsClientEvents,
                subscriptionCount: settings.tellsSubscriptionCounts,
                watchlist: settings.tellsWatchlists,
                cacheLifetime: Int(settings.cacheLifetime.components.seconds)
            ),
            limits: limits
        )
    }

    mutating func takeTellings() -> [(connection: Int, Telling)] { exchange(&tellings, with: []) }

    // MARK: What is known

    /// The limits of names and data.
    var texts: ProtocolLimits { app.limits.texts }

    /// The open connections, the oldest first.
    var connections: [Int] { sessions.keys.sorted() }

    static func socketID(_ connection: Int) -> SocketID { SocketID(UInt64(connection), 1) }

    func isOpen(_ connection: Int) -> Bool { sessions[connection] != nil }

    func channels(of connection: Int) -> [String] {
        var channels: [String] = []
        sessions[connection]?.subscriptions.forEachChannel { channels.append($0.text) }
        return channels.sorted()
    }

    func user(of connection: Int) -> String? { sessions[connection]?.user?.text }

    func subscribers(of channel: String) -> [Int] {
        (try? ChannelName(channel)).flatMap { channels[$0]?.connections } ?? []
    }

    func members(of channel: String) -> [String] {
        let members =
            (try? ChannelName(channel)).flatMap { channels[$0]?.home.presence.members } ?? []
        return members.map(\.id.text).sorted()
    }

    /// When ``tick(at:)`` has something to do; `nil` when nothing waits for time.
    func nextTick(after now: Duration) -> Duration? {
        let departure = users.nextDeparture.map { Duration.milliseconds($0) }
        let notice: Duration? =
            homeState.areCountsAnnounced ? nil : now + .milliseconds(CountNotices.interval)
        return [departure, notice].compactMap { $0 }.min()
    }

    // MARK: Connections

    /// Greets a client, or sends one away that asks for what is not there.
    mutating func open(_ connection: Int, target: String, pathPrefix: String, at now: Duration) {
        do throws(PusherCode) {
            let bytes = Array(target.utf8)
            let key = try ConnectionURL.withKey(inTarget: bytes.span, pathPrefix: pathPrefix) {
                key in
                key.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            }
            guard key == settings.key else { throw .appDoesNotExist }
            _ = try ConnectionURL.version(inTarget: bytes.span)
        } catch {
            return refuse(connection, error, error.message)
        }
        let socketID = Self.socketID(connection)
        sessions[connection] = Session(socketID: socketID, app: app)
        note(.connected, connection, at: now)
        let seconds = Int(settings.activityTimeout.components.seconds)
        tell(.connectionEstablished(socketID: socketID, activityTimeout: seconds), connection)
    }

    /// Sends a client away that has not been greeted, or not any more.
    mutating func refuse(_ connection: Int, _ code: PusherCode, _ message: String) {
        tell(.error(code: code, message: message), connection)
        let number = UInt16(clamping: code.rawValue)
        tellings.append((connection, .end(.closeFrame(code: number, reason: message))))
    }

    /// Closes a connection and tells its client why.
    mutating func close(_ connection: Int, _ code: PusherCode, _ message: String, at now: Duration)
    {
        guard isOpen(connection) else { return }
        refuse(connection, code, message)
        forget(connection, code: nil, at: now)
    }

    /// Takes in that a connection is gone: its channels have a subscriber less.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - code: That of the client's close frame; `nil` if it has sent none.
    ///   - now: The time.
    mutating func forget(_ connection: Int, code: Int?, at now: Duration) {
        guard let registrations = sessions[connection]?.end() else { return }
        sessions[connection] = nil
        note(.disconnected(code: code), connection, at: now)
        registrations.subscriptions.forEachChannel { leave($0, connection, at: now) }
        unwatch(registrations.watchedUsers, connection)
        if let user = registrations.user { users.signOut(address(of: user), at: now.wholeMilliseconds) }
    }

    // MARK: What clients say

    /// Takes a message of a client.
    mutating func receive(_ text: [UInt8], from connection: Int, at now: Duration) {
        guard isOpen(connection) else { return }
        let time = now.wholeNanoseconds
        do throws(MessageError) {
            let message = try ClientMessage.parse(text.span, limits: app.limits.texts)
            note(ClientAction.Kind(message), connection, at: now)
            if case .subscribe(let channel, _, _) = message, let refusal = refusals[channel] {
                let (type, reason, status) = refusal
                let told = ServerMessage.subscriptionError(
                    channel: channel,
                    type: type,
                    message: reason,
                    status: status
                )
                return tell(told, connection)
            }
            let signed = settings.authorization == .any ? sign(message, connection) : message
            let effects = sessions[connection]?.receive(signed, now: time) ?? []
            perform(effects, connection, at: now)
        } catch {
            note(.fault(error.description), connection, at: now)
            perform(sessions[connection]?.receive(error, now: time) ?? [], connection, at: now)
        }
    }

    /// Signs what a client should have let its backend sign.
    private func sign(_ message: ClientMessage, _ connection: Int) -> ClientMessage {
        let socketID = Self.socketID(connection)
        switch message {
        case .subscribe(let channel, _, var channelData):
            let kind = ChannelKind(ofName: Array(channel.utf8).span)
            guard kind.requiresSignature else { return message }
            if kind.isPresence, channelData == nil, user(of: connection) == nil {
                channelData = #"{"user_id":"\#(socketID)"}"#
            }
            let auth = ChannelSignature.auth(
                socketID: socketID,
                channel: channel,
                channelData: channelData,
                key: app.key,
                secret: app.secret
            )
            return .subscribe(channel: channel, auth: auth, channelData: channelData)
        case .signin(_, let userData):
            let auth = UserSignature.auth(
                socketID: socketID,
                userData: userData,
                key: app.key,
                secret: app.secret
            )
            return .signin(auth: auth, userData: userData)
        default: return message
        }
    }

    mutating func perform(
        _ effects: Session.Effects,
        _ connection: Int,
        at now: Duration
    ) {
        for effect in effects where isOpen(connection) {
            switch effect {
            case .send(let message): tell(message, connection)
            case .join(let channel, let member, let request):
                join(channel, connection, as: member, request: request, at: now)
            case .leave(let channel): leave(channel, connection, at: now)
            case .publish(let event, let channel): publish(event, on: channel, from: connection)
            case .signIn(let user):
                report(users.signIn(address(of: user)))
            case .watch(let watched): watch(watched, connection)
            case .unwatch(let watched): unwatch(watched, connection)
            case .claimQuota, .limitMet: break
            case .close(let code, let message): close(connection, code, message, at: now)
            }
        }
    }

    // MARK: What comes out

    /// Tells a client a text as it is.
    mutating func tell(_ text: [UInt8], _ connection: Int) {
        tellings.append((connection, .text(text)))
    }

    mutating func tell(_ message: ServerMessage, _ connection: Int) {
        tellings.append((connection, .text(message.bytes)))
    }

    mutating func tell(_ message: ServerMessage, _ connections: [Int]) {
        for connection in connections { tell(message, connection) }
    }

    private mutating func note(_ kind: ClientAction.Kind, _ connection: Int, at now: Duration) {
        let socketID = Self.socketID(connection).description
        if actions.count == settings.actionsMax { actions.removeFirst() }
        actions.append(ClientAction(socketID: socketID, time: now, kind: kind))
    }
}

extension ClientAction.Kind {
    fileprivate init(_ message: ClientMessage) {
        switch message {
        case .subscribe(let channel, _, _): self = .subscribe(channel: channel)
        case .unsubscribe(let channel): self = .unsubscribe(channel: channel)
        case .ping: self = .ping
        case .pong: self = .pong
        case .signin(_, let userData): self = .signIn(userData: userData)
        case .clientEvent(let event):
            self = .event(name: event.name, channel: event.channel, data: event.data)
        case .unsupported(let event): self = .fault("unknown event \(event)")
        }
    }
}
