import Broker
import FanfareClient
import Primitives
import PusherProtocol

/// The state of a scripted broker, without I/O: each call returns or queues messages to clients.
///
/// The rules are those of the `Broker` module. This type only adds the tables of connections, channels and users.
struct BrokerState: ~Copyable {
    /// A message to a client, or the end of its connection.
    enum Output {
        case text([UInt8])
        case end(TransportClosure)
    }

    /// A channel, with its subscribers in the order of their subscriptions.
    struct Channel {
        var connections: [Int] = []
        var home = ChannelHome(on: 0)
    }

    /// The app of all clients and backends.
    let app: App
    let settings: ScriptedBroker.Settings
    var sessions: [Int: Session] = [:]
    var channels: [ChannelName: Channel] = [:]
    var homeState = HomeShardState()
    var users = UserHome()
    private var restartCount: UInt64 = 0
    /// The channels whose subscriptions are refused, with the error.
    var refusals: [String: (type: String, message: String, status: Int)] = [:]
    private(set) var actions: [ClientAction] = []
    /// The queued outputs, in order.
    private var outputs: [(connection: Int, Output)] = []

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
            features: AppFeatures {
                $0.clientEvents = settings.allowsClientEvents
                $0.subscriptionCount = settings.sendsSubscriptionCounts
                $0.watchlist = settings.sendsWatchlistEvents
                // What a test does has its effect at once.
                $0.presenceGrace = 0
                $0.cacheLifetime = Int(settings.cacheLifetime.components.seconds)
            },
            limits: limits,
            recovery: RecoverySettings {
                $0.isEnabled = settings.keepsHistory
                $0.standard = RecoveryRule {
                    $0.keep = settings.opening == .live ? .whileNeeded : .always
                    $0.allowsRewind = settings.allowsRewind
                    $0.opening = RecoveryRule.Opening(settings.opening)
                    $0.messagesMax = settings.historyMessagesMax
                    $0.ageMax = Int(settings.historyAge.components.seconds)
                }
            }
        )
    }

    /// Restarts without connections, as a new process would.
    mutating func restart(keepingHistory: Bool, at now: Duration) {
        for connection in connections {
            refuse(connection, .reconnectImmediately, "The broker is restarted")
            removeConnection(connection, code: nil, at: now)
        }
        users = UserHome()
        restartCount += 1
        // Another seed, so that the streams of the new run have other IDs.
        if !keepingHistory { homeState = HomeShardState(seed: restartCount) }
    }

    mutating func takeOutputs() -> [(connection: Int, Output)] { exchange(&outputs, with: []) }

    // MARK: Queries

    /// The limits for names and data.
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

    /// The time of the next ``tick(at:)``; `nil` if none is needed.
    func nextTick(after now: Duration) -> Duration? {
        let departure = users.nextDeparture.map { Duration.milliseconds($0) }
        let notice: Duration? =
            homeState.areCountsAnnounced ? nil : now + .milliseconds(CountNotices.interval)
        return [departure, notice].compactMap { $0 }.min()
    }

    // MARK: Connections

    /// Accepts a connection, or refuses one with a wrong key, path or protocol version.
    mutating func open(_ connection: Int, target: String, pathPrefix: String, at now: Duration) {
        let receipts: Bool
        do throws(PusherCode) {
            let bytes = Array(target.utf8)
            let key = try ConnectionURL.withKey(inTarget: bytes.span, pathPrefix: pathPrefix) {
                key in
                key.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
            }
            guard key == settings.key else { throw .appDoesNotExist }
            _ = try ConnectionURL.version(inTarget: bytes.span)
            receipts = settings.sendsReceipts && ConnectionURL.wantsReceipts(inTarget: bytes.span)
        } catch {
            return refuse(connection, error, error.message)
        }
        let socketID = Self.socketID(connection)
        sessions[connection] = Session(socketID: socketID, app: app)
        record(.connected, connection, at: now)
        let seconds = Int(settings.activityTimeout.components.seconds)
        let greeting = ServerMessage.connectionEstablished(
            socketID: socketID,
            activityTimeout: seconds,
            receipts: receipts
        )
        send(greeting, connection)
    }

    /// Sends an error and a close frame.
    mutating func refuse(_ connection: Int, _ code: PusherCode, _ message: String) {
        send(.error(code: code, message: message), connection)
        let number = UInt16(clamping: code.rawValue)
        outputs.append((connection, .end(.closeFrame(code: number, reason: message))))
    }

    /// Closes a connection with an error.
    mutating func close(_ connection: Int, _ code: PusherCode, _ message: String, at now: Duration)
    {
        guard isOpen(connection) else { return }
        refuse(connection, code, message)
        removeConnection(connection, code: nil, at: now)
    }

    /// Removes a closed connection, its subscriptions and its user; the code is that of the client's close frame, if
    /// any.
    mutating func removeConnection(_ connection: Int, code: Int?, at now: Duration) {
        guard let registrations = sessions[connection]?.end() else { return }
        sessions[connection] = nil
        record(.disconnected(code: code), connection, at: now)
        registrations.subscriptions.forEachChannel { leave($0, connection, at: now) }
        unwatch(registrations.watchedUsers, connection)
        if let user = registrations.user {
            users.signOut(address(of: user), at: now.wholeMilliseconds)
        }
    }

    // MARK: Messages of clients

    /// Handles a message of a client.
    mutating func receive(_ text: [UInt8], from connection: Int, at now: Duration) {
        guard isOpen(connection) else { return }
        let time = now.wholeNanoseconds
        do throws(MessageError) {
            let message = try ClientMessage.parse(text.span, limits: app.limits.texts)
            record(ClientAction.Kind(message), connection, at: now)
            if case .subscribe(let channel, _, _, _) = message, let refusal = refusals[channel] {
                let (type, reason, status) = refusal
                let error = ServerMessage.subscriptionError(
                    channel: channel,
                    type: type,
                    message: reason,
                    status: status
                )
                return send(error, connection)
            }
            let signed = settings.authorization == .any ? sign(message, connection) : message
            let effects = sessions[connection]?.receive(signed, now: time) ?? []
            perform(effects, connection, at: now)
        } catch {
            record(.fault(error.description), connection, at: now)
            perform(sessions[connection]?.receive(error, now: time) ?? [], connection, at: now)
        }
    }

    /// Returns a message with the signature of the app's backend.
    private func sign(_ message: ClientMessage, _ connection: Int) -> ClientMessage {
        let socketID = Self.socketID(connection)
        switch message {
        case .subscribe(let channel, _, var channelData, let position):
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
            return .subscribe(
                channel: channel,
                auth: auth,
                channelData: channelData,
                position: position
            )
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
            case .send(let message): send(message, connection)
            case .join(let channel, let member, let request):
                join(channel, connection, as: member, request: request, at: now)
            case .claimSession: break
            case .joinFrom(let position, let channel, let member, let request):
                join(channel, connection, as: member, from: position, request: request, at: now)
            case .leave(let channel): leave(channel, connection, at: now)
            case .publish(let event, let channel):
                publish(event, on: channel, from: connection, at: now)
            case .signIn(let user):
                report(users.signIn(address(of: user)))
            case .watch(let watched): watch(watched, connection)
            case .unwatch(let watched): unwatch(watched, connection)
            case .claimQuota, .limitMet, .slowDown: break
            case .close(let code, let message): close(connection, code, message, at: now)
            }
        }
    }

    // MARK: Output

    /// Queues a raw message for a client.
    mutating func send(_ text: [UInt8], _ connection: Int) {
        outputs.append((connection, .text(text)))
    }

    mutating func send(_ envelope: Envelope, _ connection: Int) {
        send(Array(envelope.text), connection)
    }

    mutating func send(_ message: ServerMessage, _ connection: Int) {
        outputs.append((connection, .text(message.bytes)))
    }

    mutating func send(_ message: ServerMessage, _ connections: [Int]) {
        for connection in connections { send(message, connection) }
    }

    private mutating func record(_ kind: ClientAction.Kind, _ connection: Int, at now: Duration) {
        let socketID = Self.socketID(connection).description
        if actions.count == settings.actionsMax { actions.removeFirst() }
        actions.append(ClientAction(socketID: socketID, time: now, kind: kind))
    }
}

extension ClientAction.Kind {
    fileprivate init(_ message: ClientMessage) {
        switch message {
        case .subscribe(let channel, _, _, _): self = .subscribe(channel: channel)
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

extension RecoveryRule.Opening {
    fileprivate init(_ opening: ScriptedBroker.Settings.Opening) {
        switch opening {
        case .live: self = .live
        case .replay(let count, let seconds): self = .replay(count: count, seconds: seconds)
        }
    }
}
