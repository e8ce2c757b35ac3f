internal import Broker

extension ConsoleConfiguration {
    /// Adds the faults of the console: its listener needs a password and a port of its own.
    func check(in configuration: Configuration, _ faults: inout FaultCollector) {
        func add(_ key: String, _ problem: String) {
            if faults.isInBounds(key) { faults.add(key, problem) }
        }
        guard let port else {
            if password != nil {
                add("console.password", "is of no use without console.port: set it, as to 6060")
            }
            return
        }
        for (key, other) in [
            ("listen.port", configuration.port), ("tls.port", configuration.tlsPort),
            ("metrics.port", configuration.metrics.port),
        ] where port != 0 && other == port {
            add("console.port", "is \(port), as \(key) is: choose one of its own")
        }
        guard let password else {
            add("console.port", "needs console.password: who signs in sees and sends events")
            return
        }
        if password.utf8.count < Self.passwordLengthMin {
            add("console.password", "must have \(Self.passwordLengthMin) characters or more")
        }
    }

    /// Adds a warning of a console that is not there, but probably meant.
    func warn(in configuration: Configuration, _ warnings: inout FaultCollector) {
        guard port == nil else { return }
        if password != nil {
            warnings.add(
                "console.password",
                "is of no use without console.port: set it, as to 6060"
            )
            return
        }
        let development = AppConfiguration.development
        let hasDevelopmentApp = configuration.apps.contains { $0.key == development.key }
        guard hasDevelopmentApp, !configuration.apps.areForDevelopment else { return }
        warnings.add(
            "apps",
            "has others beside the development app, so there is no console at / of "
                + "listen.port: set console.port and console.password for one"
        )
    }
}
