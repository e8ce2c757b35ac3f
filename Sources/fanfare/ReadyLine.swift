/// The one line on standard output that says that clients may come.
enum ReadyLine {
    /// Names the addresses, with their real ports, and the apps' keys.
    static func text(plain: String?, tls: String?, unix: String?, keys: [String]) -> String {
        let addresses = [plain.map { "ws://\($0)" }, tls.map { "wss://\($0)" }, unix]
            .compactMap(\.self).joined(separator: " ")
        let shown = keys.prefix(3).joined(separator: ", ")
        let others = keys.count > 3 ? " and \(keys.count - 3) more" : ""
        let noun = keys.count == 1 ? "key" : "keys"
        return "fanfare: ready on \(addresses) (app \(noun) \(shown)\(others))"
    }
}
