/// One element of `Sec-WebSocket-Extensions` (RFC 6455 §9.1).
struct ExtensionElement: Equatable {
    /// A parameter, whose value has lost its quotes.
    struct Parameter: Equatable {
        var name: String
        var value: String?
    }

    var name: String
    var parameters: [Parameter] = []

    /// Reads the elements of all lines of the field, in order.
    ///
    /// - Parameter lines: The field's values, one a header line.
    /// - Returns: `nil` when a line breaks the grammar; then the connection must be failed.
    static func parse(_ lines: [String]) -> [ExtensionElement]? {
        var elements: [ExtensionElement] = []
        for line in lines {
            var scanner = FieldScanner(line)
            guard
                scanner.list({ scanner in
                    guard let element = ExtensionElement(&scanner) else { return false }
                    elements.append(element)
                    return true
                })
            else { return nil }
        }
        return elements
    }

    init(name: String, parameters: [Parameter] = []) {
        self.name = name
        self.parameters = parameters
    }

    private init?(_ scanner: inout FieldScanner) {
        guard let name = scanner.token() else { return nil }
        self.name = name
        while scanner.take(UInt8(ascii: ";")) {
            guard let name = scanner.token() else { return nil }
            var parameter = Parameter(name: name)
            if scanner.take(UInt8(ascii: "=")) {
                guard let value = scanner.tokenOrQuotedToken() else { return nil }
                parameter.value = value
            }
            parameters.append(parameter)
        }
    }
}
