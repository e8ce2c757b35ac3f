/// One element of `Sec-WebSocket-Extensions` (RFC 6455 §9.1).
struct ExtensionElement: Equatable {
    /// A parameter; its value is unquoted.
    struct Parameter: Equatable {
        var name: String
        var value: String?
    }

    var name: String
    var parameters: [Parameter] = []

    /// Parses the elements of all lines of the field, one per header line, in order.
    ///
    /// - Returns: The elements; `nil` if a line is malformed, so that the connection must be failed.
    static func parse(_ lines: [String]) -> [ExtensionElement]? {
        var elements: [ExtensionElement] = []
        for line in lines {
            let line = line.utf8
            guard appendElements(of: line.span, to: &elements) else { return nil }
        }
        return elements
    }

    /// Appends the elements of one line of the field; false if it is malformed.
    static func appendElements(
        of line: Span<UInt8>,
        to elements: inout [ExtensionElement]
    ) -> Bool {
        var scanner = FieldScanner()
        return scanner.list(in: line) { scanner in
            guard let element = ExtensionElement(&scanner, in: line) else { return false }
            elements.append(element)
            return true
        }
    }

    init(name: String, parameters: [Parameter] = []) {
        self.name = name
        self.parameters = parameters
    }

    private init?(_ scanner: inout FieldScanner, in line: Span<UInt8>) {
        guard let name = scanner.tokenText(in: line) else { return nil }
        self.name = name
        while scanner.consume(UInt8(ascii: ";"), in: line) {
            guard let name = scanner.tokenText(in: line) else { return nil }
            var parameter = Parameter(name: name)
            if scanner.consume(UInt8(ascii: "="), in: line) {
                guard let value = scanner.tokenOrQuotedToken(in: line) else { return nil }
                parameter.value = value
            }
            parameters.append(parameter)
        }
    }
}
