import Broker
package import Logging
import PusherProtocol
package import Shard
import Synchronization

/// Logs what the broker does: refusals at `info`, connections, subscriptions and events at `debug`, frames at `trace`.
///
/// Below its level a kind is not observed, so that it costs a test of a bit. Of each kind of refusal there are at most ten
/// lines a second; the next line has the number of those that were left out. Secrets are left out of all texts.
package final class ActivityLog: BrokerObserver {
    private let log: Logger
    private let paces: [Refusal.Subject: LogPace]
    private let registry: Mutex<AppRegistry>

    package init(_ log: Logger, registry: AppRegistry) {
        self.log = log
        self.registry = Mutex(registry)
        paces = Dictionary(uniqueKeysWithValues: Refusal.Subject.allCases.map { ($0, LogPace()) })
    }

    /// Uses other apps, whose secrets are left out from now on.
    package func replaceApps(_ registry: AppRegistry) { self.registry.withLock { $0 = registry } }

    func observedKinds(of app: AppID?) -> BrokerEventKinds {
        var kinds: BrokerEventKinds = []
        if log.logLevel <= .info { kinds.insert(.refusals) }
        guard app != nil else { return kinds }
        if log.logLevel <= .debug {
            kinds.formUnion([
                .connections, .admissions, .signIns, .subscriptions, .published, .clientEvents,
            ])
        }
        if log.logLevel <= .trace { kinds.insert(.frames) }
        return kinds
    }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        switch event {
        case .refused(let refusal): record(refusal, of: app)
        case .admitted(let socketID, let peer):
            var metadata = metadata(of: app, socketID)
            metadata["address"] = peer.address.map { "\($0)" }
            if !peer.library.isEmpty { metadata["library"] = "\(peer.library)" }
            if peer.isSecure { metadata["tls"] = "true" }
            log.debug("client connected", metadata: metadata)
        case .disconnected(let socketID):
            log.debug("client disconnected", metadata: metadata(of: app, socketID))
        case .signedIn(let socketID, let userID):
            var metadata = metadata(of: app, socketID)
            metadata["user"] = "\(userID)"
            log.debug("signed in", metadata: metadata)
        case .channel(let event, let address): record(event, on: address)
        case .frame(let frame): record(frame, of: app)
        case .connected, .deliveriesDropped, .gapTold, .limitMet: break
        }
    }

    private func metadata(of app: AppID?, _ socketID: SocketID?) -> Logger.Metadata {
        var metadata = Logger.Metadata()
        metadata["app"] = app.map { "\($0)" }
        metadata["socket"] = socketID.map { "\($0)" }
        return metadata
    }

    // MARK: - Refusals

    private func record(_ refusal: Refusal, of app: AppID?) {
        guard let omittedCount = paces[refusal.subject]?.takeLine() else { return }
        let registry = registry.withLock { $0 }
        var metadata = metadata(of: app, refusal.socketID)
        metadata["address"] = refusal.address.map { "\($0)" }
        metadata["code"] = refusal.code.map { "\($0)" }
        if omittedCount > 0 { metadata["omitted"] = "\(omittedCount)" }
        for (name, text) in [
            ("channel", refusal.channel), ("request", refusal.request),
            ("reason", refusal.reason), ("advice", refusal.shownAdvice),
        ] {
            metadata[name] = text.map { "\(registry.removingSecrets(from: $0, of: app))" }
        }
        if let key = refusal.unknownKey {
            let isSecret = registry.isSecret(key)
            let shown = String(key.unicodeScalars.prefix(100))
            metadata["key"] = isSecret ? "(the secret of an app)" : "\(shown)"
        }
        log.info("\(refusal.subject.rawValue) refused", metadata: metadata)
    }

    // MARK: - Channels and frames

    private func record(_ event: ChannelEvent, on address: ChannelAddress) {
        var metadata: Logger.Metadata = [
            "app": "\(address.app)", "channel": "\(address.name.text)",
        ]
        switch event {
        case .subscribed(let socketID, let userID):
            metadata["socket"] = "\(socketID)"
            metadata["user"] = userID.map { "\($0)" }
            log.debug("subscribed", metadata: metadata)
        case .unsubscribed(let socketID):
            metadata["socket"] = "\(socketID)"
            log.debug("unsubscribed", metadata: metadata)
        case .published(let publication):
            metadata["event"] = "\(publication.name)"
            metadata["bytes"] = "\(publication.data.utf8.count)"
            log.debug("event published", metadata: metadata)
        case .clientEvent(let event, let sender, let userID):
            metadata["event"] = "\(event.name)"
            metadata["socket"] = "\(sender)"
            metadata["user"] = userID.map { "\($0)" }
            metadata["bytes"] = "\(event.data?.utf8.count ?? 0)"
            log.debug("client event published", metadata: metadata)
        case .occupied, .vacated, .memberAdded, .memberRemoved, .cacheMiss, .cacheFilled,
            .subscriptionCount:
            break
        }
    }

    private func record(_ frame: FrameTrace, of app: AppID?) {
        let registry = registry.withLock { $0 }
        func text(_ frame: String) -> Logger.MetadataValue {
            "\(registry.removingSecrets(from: FrameText.shown(frame), of: app))"
        }
        switch frame {
        case .received(let frame, let socketID):
            var metadata = metadata(of: app, socketID)
            metadata["frame"] = text(frame)
            log.trace("received", metadata: metadata)
        case .sent(let frame, let socketID):
            var metadata = metadata(of: app, socketID)
            metadata["frame"] = text(frame)
            log.trace("sent", metadata: metadata)
        case .fannedOut(let frame, let count, let address):
            var metadata = metadata(of: app, nil)
            metadata["channel"] = "\(address.name.text)"
            metadata["subscribers"] = "\(count)"
            metadata["frame"] = text(frame)
            log.trace("fanned out", metadata: metadata)
        }
    }
}
