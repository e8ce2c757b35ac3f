/// The parameters of one `permessage-deflate` element, in an offer or in a response (RFC 7692 §7.1).
struct DeflateParameters: Equatable {
    static let extensionName = "permessage-deflate"

    /// The parameter of the client's window.
    enum ClientWindow: Equatable {
        /// No parameter; an offer without it forbids it in the response.
        case unmentioned
        /// Without a value, only in an offer: the client supports any window.
        case unbounded
        case bits(Int)
    }

    var serverNoContextTakeover = false
    var clientNoContextTakeover = false
    var serverMaxWindowBits: Int?
    var clientWindow = ClientWindow.unmentioned

    init() {}

    /// Parses an element's parameters; `nil` if one is unknown, repeated or invalid.
    init?(_ element: ExtensionElement) {
        var seen: Set<String> = []
        for parameter in element.parameters {
            guard seen.insert(parameter.name).inserted else { return nil }
            switch (parameter.name, parameter.value) {
            case ("server_no_context_takeover", nil): serverNoContextTakeover = true
            case ("client_no_context_takeover", nil): clientNoContextTakeover = true
            case ("client_max_window_bits", nil): clientWindow = .unbounded
            case ("server_max_window_bits", let value?):
                guard let bits = Self.windowBits(value) else { return nil }
                serverMaxWindowBits = bits
            case ("client_max_window_bits", let value?):
                guard let bits = Self.windowBits(value) else { return nil }
                clientWindow = .bits(bits)
            default: return nil
            }
        }
    }

    /// Parses a decimal number from 8 to 15 without leading zeros (§7.1.2).
    private static func windowBits(_ value: String) -> Int? {
        (8...15).first { String($0) == value }
    }

    /// The element's text in the field.
    var text: String {
        var text = Self.extensionName
        if serverNoContextTakeover { text += "; server_no_context_takeover" }
        if clientNoContextTakeover { text += "; client_no_context_takeover" }
        if let bits = serverMaxWindowBits { text += "; server_max_window_bits=\(bits)" }
        switch clientWindow {
        case .unmentioned: break
        case .unbounded: text += "; client_max_window_bits"
        case .bits(let bits): text += "; client_max_window_bits=\(bits)"
        }
        return text
    }
}

extension DeflateOptions {
    /// The parameters that a client offers.
    var offer: DeflateParameters {
        var offer = DeflateParameters()
        offer.serverNoContextTakeover = serverNoContextTakeover
        offer.clientNoContextTakeover = clientNoContextTakeover
        offer.serverMaxWindowBits = serverMaxWindowBits < 15 ? serverMaxWindowBits : nil
        offer.clientWindow = clientMaxWindowBits < 15 ? .bits(clientMaxWindowBits) : .unbounded
        return offer
    }

    /// Returns a server's response to an offer; a server can accept every offer.
    func response(to offer: DeflateParameters) -> DeflateParameters {
        var response = DeflateParameters()
        response.serverNoContextTakeover = serverNoContextTakeover || offer.serverNoContextTakeover
        // In an offer it is only a hint that the client would not use its context anyway. In the response
        // it becomes binding, and this side need not keep the window (§7.1.1.2).
        response.clientNoContextTakeover = clientNoContextTakeover || offer.clientNoContextTakeover
        let serverBits = min(serverMaxWindowBits, offer.serverMaxWindowBits ?? 15)
        if serverBits < 15 || offer.serverMaxWindowBits != nil {
            response.serverMaxWindowBits = serverBits
        }
        switch offer.clientWindow {
        case .unmentioned: break  // §7.1.2.2: then the response must not mention it either.
        case .unbounded:
            if clientMaxWindowBits < 15 { response.clientWindow = .bits(clientMaxWindowBits) }
        case .bits(let bits): response.clientWindow = .bits(min(bits, clientMaxWindowBits))
        }
        return response
    }

    /// Returns whether a response is valid for this offer (§7.1).
    func isAnswered(by response: DeflateParameters) -> Bool {
        guard response.serverNoContextTakeover || !serverNoContextTakeover else { return false }
        if serverMaxWindowBits < 15 {
            guard let bits = response.serverMaxWindowBits, bits <= serverMaxWindowBits else {
                return false
            }
        }
        switch response.clientWindow {
        case .unmentioned: return true
        case .unbounded: return false  // In a response the value is required.
        case .bits(let bits): return bits <= clientMaxWindowBits
        }
    }

    /// Returns the parameters of both directions that a response determines, with this side's own settings.
    ///
    /// `role` is the side of these options.
    func negotiated(_ response: DeflateParameters, role: Role) -> NegotiatedDeflate {
        var clientBits = role == .client ? clientMaxWindowBits : 15
        if case .bits(let bits) = response.clientWindow { clientBits = bits }
        return NegotiatedDeflate(
            serverNoContextTakeover: response.serverNoContextTakeover,
            // A client does what it offered for itself, whether or not the server confirms it.
            clientNoContextTakeover: response.clientNoContextTakeover
                || (role == .client && clientNoContextTakeover),
            serverMaxWindowBits: response.serverMaxWindowBits ?? 15,
            clientMaxWindowBits: clientBits,
            options: self
        )
    }
}
