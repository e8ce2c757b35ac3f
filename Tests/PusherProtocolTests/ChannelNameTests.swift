import PusherProtocol
import Testing

@Suite("Channel names and kinds") struct ChannelNameTests {
    @Test(
        "The prefix decides, at the start only and the longest first",
        arguments: [
            ("my-channel", ChannelKind.public), ("cache-x", .cache), ("private-x", .private),
            ("private-cache-x", .privateCache), ("private-encrypted-x", .encrypted),
            ("private-encrypted-cache-x", .encryptedCache), ("presence-x", .presence),
            ("presence-cache-x", .presenceCache), ("#server-to-user-u-1", .serverToUser),
            ("private", .public), ("presencefoo", .public), ("privatefoo", .public),
            ("foo-cache-x", .public), ("foo-private-x", .public), ("cache", .public),
            ("private-", .private), ("presence-", .presence), ("cache-", .cache),
            ("private-encrypted", .private), ("private-encryptedx", .private),
            ("private-cache", .private), ("presence-cache", .presence),
            ("presence-encrypted-x", .presence), ("cache-private-x", .cache),
            ("Private-x", .public), ("private-foo-cache-x", .private),
        ]
    )
    func classifies(name: String, kind: ChannelKind) throws {
        #expect(try ChannelName(name).kind == kind)
        #expect(try ChannelName(name).text == name)
    }

    @Test func knowsWhatEachKindNeeds() {
        let signed: Set<ChannelKind> = [
            .private, .privateCache, .encrypted, .encryptedCache, .presence, .presenceCache,
        ]
        let cached: Set<ChannelKind> = [.cache, .privateCache, .encryptedCache, .presenceCache]
        for kind in ChannelKind.allCases {
            #expect(kind.requiresSignature == signed.contains(kind))
            #expect(kind.allowsClientEvents == signed.contains(kind))
            #expect(kind.isCache == cached.contains(kind))
            #expect(kind.isPresence == [.presence, .presenceCache].contains(kind))
            #expect(kind.isEncrypted == [.encrypted, .encryptedCache].contains(kind))
        }
    }

    @Test func acceptsEveryCharacterOfTheAlphabetAndNoOther() throws {
        let alphabet = Set(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=@,.;".utf8
        )
        for byte in UInt8.min...UInt8.max {
            let name = [UInt8(ascii: "a"), byte, UInt8(ascii: "b")]
            if alphabet.contains(byte) {
                #expect(try ChannelName(validating: name.span).text.utf8.count == 3)
            } else {
                #expect(throws: ChannelNameError.invalidCharacter(at: 1)) {
                    try ChannelName(validating: name.span)
                }
            }
        }
    }

    @Test(arguments: [
        ("", ChannelNameError.empty), ("a b", .invalidCharacter(at: 1)),
        ("żółć", .invalidCharacter(at: 0)), ("a/b", .invalidCharacter(at: 1)),
        ("a:b", .invalidCharacter(at: 1)), ("a#", .invalidCharacter(at: 1)),
        ("#", .reserved), ("#foo", .reserved), ("#server-to-user", .reserved),
        ("#Server-to-user-1", .reserved), ("#server-to-user-", .invalidUserID),
        ("#server-to-user-a b", .invalidUserID), ("#server-to-user-#", .invalidUserID),
        ("#server-to-user-ż", .invalidUserID),
    ])
    func refuses(name: String, error: ChannelNameError) {
        #expect(throws: error) { try ChannelName(name) }
        #expect(!error.description.isEmpty)
    }

    @Test func boundsTheLength() throws {
        let longest = String(repeating: "a", count: 200)
        #expect(try ChannelName(longest).text == longest)
        #expect(throws: ChannelNameError.tooLong(length: 201, lengthMax: 200)) {
            try ChannelName(longest + "a")
        }
        var hosted = ProtocolLimits()
        hosted.channelNameLengthMax = 164
        #expect(throws: ChannelNameError.tooLong(length: 165, lengthMax: 164)) {
            try ChannelName(String(repeating: "a", count: 165), limits: hosted)
        }
    }

    @Test func boundsTheUserID() throws {
        let longest = String(repeating: "u", count: 128)
        let name = try ChannelName("#server-to-user-" + longest)
        #expect(name.userID == longest)
        #expect(throws: ChannelNameError.userIDTooLong(length: 129, lengthMax: 128)) {
            try ChannelName("#server-to-user-u" + longest)
        }
        #expect(try ChannelName("private-x").userID == nil)
        #expect(isValidUserID("u-1@x.y"))
        #expect(!isValidUserID(""))
        #expect(!isValidUserID("a b"))
        #expect(!isValidUserID(longest + "u"))
    }

    private func isValidUserID(_ text: String) -> Bool {
        ChannelName.isValidUserID(bytes(text).span)
    }
}
