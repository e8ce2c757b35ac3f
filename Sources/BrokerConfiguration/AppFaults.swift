internal import Broker
internal import HTTP1
internal import HTTPClient
internal import Net
internal import PusherProtocol

extension Configuration {
    /// The faults of the apps beyond single values.
    func appFaults() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        if apps.isEmpty {
            let problem = "must have at least one app: \"fanfare keys app\" makes one"
            faults.append(ConfigurationFault(key: "apps", problem: problem))
        }
        for (index, app) in apps.enumerated() {
            func add(_ name: String, _ problem: String) {
                faults.append(ConfigurationFault(key: "apps.\(index).\(name)", problem: problem))
            }
            let twin = apps.prefix(index).firstIndex { $0.id == app.id }
            if let twin, !app.id.isEmpty {
                add("id", "is \(app.id), as that of apps.\(twin): each app needs its own")
            }
            if app.isTLSOnly, tlsPort == nil {
                add(
                    "tls_only",
                    "is true, but tls.port is none: no client could connect; set tls.port"
                )
            }
            let stored = app.recoveryRules.firstIndex { $0.settings.store == .archive }
            if recovery.database == nil, let rule = stored {
                add(
                    "recovery.rules.\(rule).store",
                    "is sqlite, but recovery.database is none: name the file to keep the messages in"
                )
            }
            if app.features.watchlist, !app.features.users {
                add(
                    "features.watchlist",
                    "is true, but features.users is false: a watchlist comes with the sign-in of "
                        + "a user; make both true or this one false"
                )
            }
            for (name, problem) in app.recoveryFaults() { add(name, problem) }
        }
        return faults + credentialFaults() + webhookFaults()
    }

    /// The name of the part of a credential that is the public one of the development app; `nil` if none is.
    private func developmentName(_ pair: (key: String, secret: String)) -> String? {
        if pair.secret == AppConfiguration.development.secret { return "secret" }
        return pair.key == AppConfiguration.development.key ? "key" : nil
    }

    /// The faults of keys and secrets: a key belongs to one app, and no pair is repeated.
    private func credentialFaults() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        /// The index of the first app with each key.
        var owners: [String: Int] = [:]
        for (index, app) in apps.enumerated() {
            var secrets: [String: Set<String>] = [:]
            for (number, pair) in app.allCredentials.enumerated() where !pair.key.isEmpty {
                let place = "apps.\(index)." + (number == 0 ? "" : "credentials.\(number - 1).")
                func add(_ name: String, _ problem: String) {
                    faults.append(ConfigurationFault(key: place + name, problem: problem))
                }
                if isExposed, let name = developmentName(pair) {
                    add(
                        name,
                        "is the development one, which is public, and the broker would "
                            + "listen on \(hosts.joined(separator: ", ")): make an app of your own with "
                            + "\"fanfare keys app\", or listen on 127.0.0.1"
                    )
                } else if cluster.reachesOtherMachines, let name = developmentName(pair) {
                    add(
                        name,
                        "is the development one, which is public, and cluster.redis is shared with "
                            + "other machines: make an app of your own with \"fanfare keys app\""
                    )
                }
                if pair.secret.hasPrefix("${"), pair.secret.hasSuffix("}") {
                    add(
                        "secret",
                        "is written as a variable of a shell, which the file does not replace: leave "
                            + "the line as it is in a file that a program fills in, or set "
                            + EnvironmentSettings.variable(of: place + "secret")
                    )
                }
                let owner = owners[pair.key] ?? index
                owners[pair.key] = owner
                if owner != index {
                    add("key", "is \(pair.key), as that of apps.\(owner): each app needs its own")
                } else if !secrets[pair.key, default: []].insert(pair.secret).inserted {
                    add("secret", "is one that this key of the app has already: write a new one")
                }
            }
        }
        return faults
    }

    /// The faults of webhook endpoints: each has events, and no field is repeated.
    private func webhookFaults() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        for (index, app) in apps.enumerated() {
            for (number, webhook) in app.webhooks.enumerated() {
                func add(_ name: String, _ problem: String) {
                    let key = "apps.\(index).webhooks.\(number).\(name)"
                    faults.append(ConfigurationFault(key: key, problem: problem))
                }
                if webhook.events.isEmpty {
                    let names = WebhookKind.allCases.map(\.rawValue)
                    add("events", "must name at least one of " + names.joined(separator: ", "))
                }
                let headers = webhook.headers.keys.sorted()
                let countMax = WebhookConfiguration.headerCountMax
                if headers.count > countMax {
                    add("headers", "are \(headers.count), but may be \(countMax) at the most")
                }
                var seen: Set<String> = []
                for name in headers where !seen.insert(name.lowercased()).inserted {
                    add(
                        "headers.\(name)",
                        "is written twice, in capitals and small letters: keep one"
                    )
                }
                // The same check as before each request.
                let isInBounds = SettingKind<String>.endpoint.isValid(webhook.url)
                if isInBounds, HTTPResource(webhook.url, encodes: true) == nil {
                    add("url", "is no URL that a request can be sent to: \"\(webhook.shownURL)\"")
                }
            }
        }
        return faults
    }

    /// The faults of the certificates that webhooks trust.
    func trustFaults() -> [ConfigurationFault] {
        guard let path = webhooks.trust, !path.isEmpty else { return [] }
        do {
            _ = try FileBytes.read(path)
        } catch {
            let problem = "cannot be read: \(path): \(error.reason)"
            return [ConfigurationFault(key: "webhooks.trust", problem: problem)]
        }
        do {
            _ = try TLSContext.client(trust: .file(path))
            return []
        } catch {
            let problem = "must be certificates in PEM: \(error)"
            return [ConfigurationFault(key: "webhooks.trust", problem: problem)]
        }
    }

    /// The contradictions between limits, except those of keys that have a fault already.
    func limitFaults(besides known: Set<String>) -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        for (index, app) in apps.enumerated() {
            let rules = app.limits.texts.dataRules.enumerated()
                .map { ("event_data_rules.\($0).length_max", $1.lengthMax) }
            for (name, length) in [("event_data_length_max", app.limits.texts.dataLengthMax)]
                + rules
            {
                let key = "apps.\(index).\(name)"
                for (other, limit) in [
                    ("limits.request_body_length_max", httpLimits.bodyLengthMax),
                    ("limits.queued_bytes_max", streamLimits.queuedBytesMax),
                ] where length >= limit && known.isDisjoint(with: [key, other]) {
                    let problem =
                        "is \(length) bytes, but \(other) is \(limit): "
                        + "no such event would pass; lower the one or raise the other"
                    faults.append(ConfigurationFault(key: key, problem: problem))
                }
            }
        }
        return faults
    }
}
