internal import Broker
internal import Net
internal import Primitives

extension SettingKind<Rate> {
    /// A number of times a second.
    static func rate(_ things: String, in range: ClosedRange<Int>) -> Self {
        SettingKind<Int>.count(things, in: range).map(Rate.init, from: \.perSecond)
    }
}

extension SettingKind<String> {
    /// The origin of web pages.
    static var origin: Self {
        Self(
            "an origin as https://example.com, https://*.example.com or "
                + "http://localhost:3000, without a slash at its end"
        ) { OriginPattern($0) != nil }
    }

    /// An IP address or a range of them.
    static var addressRange: Self {
        Self("an IP address, or a range of them as 10.0.0.0/8 or fd00::/8") {
            AddressRange($0) != nil
        }
    }

    /// The URL of an endpoint.
    static var endpoint: Self {
        Self(
            "a URL that begins with https:// or http:// and a host, "
                + "at most 2000 characters of ASCII without spaces",
            text: \.withoutURLSecrets
        ) { url in
            guard let scheme = ["https://", "http://"].first(where: url.hasPrefix),
                url.utf8.count <= 2_000, url.utf8.allSatisfy({ $0 > 32 && $0 < 127 })
            else { return false }
            let authority = url.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
            // The authority follows the rules of an origin, so a user name or password is not allowed.
            return !authority.hasPrefix("*") && OriginPattern(scheme + authority) != nil
        }
    }

    /// A prefix or suffix of channel names; empty for any.
    static var channelNamePart: Self {
        Self(
            "a part of a channel's name, of letters, digits and _-=@,.; (at most 200), or none",
            text: { $0.isEmpty ? "none" : $0 },
            noneValue: ""
        ) { $0.utf8.count <= 200 && $0.utf8.allSatisfy(isChannelNameByte) }
    }

    /// The name of a field of a webhook's request (RFC 9110 §5.1).
    static var fieldName: Self {
        Self(
            "1 to 100 letters, digits, - or _, and none of the fields that the broker itself sends"
        ) { name in
            let lowercased = name.lowercased()
            return (1...100).contains(name.utf8.count) && name.utf8.allSatisfy(isWordByte)
                && !WebhookConfiguration.reservedHeaders.contains(lowercased)
                && !lowercased.hasPrefix(WebhookConfiguration.reservedHeaderPrefix)
        }
    }

    /// The value of a field of a webhook's request, which may be a secret (RFC 9110 §5.5).
    static var fieldValue: Self {
        Self(
            "at most 2000 characters of ASCII, without a space at its begin or end",
            text: { _ in "(secret)" },
            noneValue: "",
            isSecret: true
        ) {
            $0.utf8.count <= 2_000 && $0.utf8.allSatisfy { $0 >= 32 && $0 < 127 }
                && $0.first != " " && $0.last != " "
        }
    }
}

private func isChannelNameByte(_ byte: UInt8) -> Bool {
    isWordByte(byte) || "=@,.;".utf8.contains(byte)
}
