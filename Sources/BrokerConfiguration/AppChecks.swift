internal import Broker
internal import HTTP1
internal import HTTPClient
internal import Net
internal import PusherProtocol

/// The checks of the apps beyond single values.
struct AppChecks {
    let configuration: Configuration

    private var apps: [AppConfiguration] { configuration.apps }

    /// Adds the faults of the apps.
    func check(_ faults: inout FaultCollector) {
        if apps.isEmpty {
            faults.add("apps", "must have at least one app: \"fanfare keys app\" makes one")
        }
        faults.check(apps, of: "apps", checkFeatures)
        checkCredentials(&faults)
        faults.check(apps, of: "apps") { _, app, faults in
            faults.check(app.webhooks, of: "webhooks") { Self.check($1, &$2) }
        }
    }

    /// What an app needs of the other apps, of the broker, and of its own other features.
    private func checkFeatures(
        _ index: Int,
        _ app: AppConfiguration,
        _ faults: inout FaultCollector
    ) {
        let twin = apps.prefix(index).firstIndex { $0.id == app.id }
        if let twin, !app.id.isEmpty {
            faults.add("id", "is \(app.id), as that of apps.\(twin): each app needs its own")
        }
        if app.isTLSOnly, configuration.tlsPort == nil {
            faults.add(
                "tls_only",
                "is true, but tls.port is none: no client could connect; set tls.port"
            )
        }
        let stored = app.recoveryRules.firstIndex { $0.settings.store == .archive }
        if configuration.recovery.database == nil, let rule = stored {
            faults.add(
                "recovery.rules.\(rule).store",
                "is sqlite, but recovery.database is none: name the file to keep the messages in"
            )
        }
        if app.features.watchlist, !app.features.users {
            faults.add(
                "features.watchlist",
                "is true, but features.users is false: a watchlist comes with the sign-in of "
                    + "a user; make both true or this one false"
            )
        }
        faults.check(app.recoveryRules, of: "recovery.rules") { $1.check(in: app.recovery, &$2) }
    }

    private typealias Pair = (key: String, secret: String)

    /// The credentials of an app, its own first, each with the beginning of its keys.
    private static func credentials(
        of app: AppConfiguration,
        at index: Int
    ) -> [(place: String, pair: Pair)] {
        app.allCredentials.enumerated().map { number, pair in
            ("apps.\(index)." + (number == 0 ? "" : "credentials.\(number - 1)."), pair)
        }
    }

    /// Refuses the credentials of the development app, which are public, where other machines could use them.
    private func checkDevelopment(_ pair: Pair, at place: String, _ faults: inout FaultCollector) {
        let development = AppConfiguration.development
        guard pair.secret == development.secret || pair.key == development.key else { return }
        let key = place + (pair.secret == development.secret ? "secret" : "key")
        if configuration.isExposed {
            let hosts = configuration.hosts.joined(separator: ", ")
            faults.add(
                key,
                "is the development one, which is public, and the broker would listen on \(hosts): "
                    + "make an app of your own with \"fanfare keys app\", or listen on 127.0.0.1"
            )
        } else if configuration.cluster.reachesOtherMachines {
            faults.add(
                key,
                "is the development one, which is public, and cluster.redis is shared with "
                    + "other machines: make an app of your own with \"fanfare keys app\""
            )
        }
    }

    /// Checks keys and secrets: a key belongs to one app, and no pair is repeated.
    private func checkCredentials(_ faults: inout FaultCollector) {
        /// The index of the first app with each key.
        var owners: [String: Int] = [:]
        for (index, app) in apps.enumerated() {
            var secrets: [String: Set<String>] = [:]
            for (place, pair) in Self.credentials(of: app, at: index) where !pair.key.isEmpty {
                checkDevelopment(pair, at: place, &faults)
                if pair.secret.hasPrefix("${"), pair.secret.hasSuffix("}") {
                    faults.add(
                        place + "secret",
                        "is written as a variable of a shell, which the file does not replace: leave "
                            + "the line as it is in a file that a program fills in, or set "
                            + EnvironmentSettings.variable(of: place + "secret")
                    )
                }
                let owner = owners[pair.key] ?? index
                owners[pair.key] = owner
                if owner != index {
                    faults.add(
                        place + "key",
                        "is \(pair.key), as that of apps.\(owner): each app needs its own"
                    )
                } else if !secrets[pair.key, default: []].insert(pair.secret).inserted {
                    faults.add(
                        place + "secret",
                        "is one that this key of the app has already: write a new one"
                    )
                }
            }
        }
    }

    /// Checks an endpoint: it has events, and no field is repeated.
    private static func check(_ webhook: WebhookConfiguration, _ faults: inout FaultCollector) {
        if webhook.events.isEmpty {
            let names = WebhookKind.allCases.map(\.rawValue)
            faults.add("events", "must name at least one of " + names.joined(separator: ", "))
        }
        let headers = webhook.headers.keys.sorted()
        let countMax = WebhookConfiguration.headerCountMax
        if headers.count > countMax {
            faults.add("headers", "are \(headers.count), but may be \(countMax) at the most")
        }
        var seen: Set<String> = []
        for name in headers where !seen.insert(name.lowercased()).inserted {
            faults.add(
                "headers.\(name)",
                "is written twice, in capitals and small letters: keep one"
            )
        }
        // The same check as before each request.
        let isInBounds = SettingKind<String>.endpoint.isValid(webhook.url)
        if isInBounds, HTTPResource(webhook.url, encodes: true) == nil {
            faults.add("url", "is no URL that a request can be sent to: \"\(webhook.shownURL)\"")
        }
    }

    /// Adds the contradictions between the lengths of events and the limits of the broker.
    func checkLengths(_ faults: inout FaultCollector) {
        for (index, app) in apps.enumerated() {
            let texts = app.limits.texts
            let rules = texts.dataRules.enumerated()
                .map { ("event_data_rules.\($0).length_max", $1.lengthMax) }
            for (name, length) in [("event_data_length_max", texts.dataLengthMax)] + rules {
                let key = "apps.\(index).\(name)"
                for (other, limit) in [
                    ("limits.request_body_length_max", configuration.httpLimits.bodyLengthMax),
                    ("limits.queued_bytes_max", configuration.streamLimits.queuedBytesMax),
                ] where length >= limit && faults.isInBounds(key) && faults.isInBounds(other) {
                    faults.add(
                        key,
                        "is \(length) bytes, but \(other) is \(limit): "
                            + "no such event would pass; lower the one or raise the other"
                    )
                }
            }
        }
    }

    /// The minimum length of a secret that is not warned of, in bytes.
    private static let secretLengthMin = 16

    /// Adds a warning for each secret that can be guessed.
    func warn(_ warnings: inout FaultCollector) {
        for (index, app) in apps.enumerated() {
            for (place, pair) in Self.credentials(of: app, at: index) {
                let length = pair.secret.utf8.count
                guard length < Self.secretLengthMin,
                    pair.secret != AppConfiguration.development.secret
                else { continue }
                warnings.add(
                    place + "secret",
                    "has \(length) characters, and can be guessed: use "
                        + "\(Self.secretLengthMin) or more; \"fanfare keys secret\" makes one"
                )
            }
        }
    }
}
