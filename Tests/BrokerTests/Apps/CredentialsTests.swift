import PusherProtocol
import Testing

@testable import Broker

@Suite("The credentials of an app") struct CredentialsTests {
    private let credentials = Credentials([
        ("key", "first"), ("key", "second"), ("other", "third"), ("key", "fourth"),
    ])

    private func signs(_ secret: String, under key: String) -> Bool {
        let bytes = Array(key.utf8)
        let signature = Array(AppSecret(secret).sign("text").utf8)
        let text = Array("text".utf8)
        let byBytes = credentials.secret(of: bytes.span)?.verify(signature.span, of: text.span)
        let byText = credentials.secret(of: key)?.verify(signature.span, of: text.span)
        #expect(byBytes == byText)
        return byText == true
    }

    @Test func everySecretIsAcceptedUnderItsKey() {
        #expect(credentials.keys == ["key", "other"])
        for secret in ["first", "second", "fourth"] {
            #expect(signs(secret, under: "key"))
            #expect(!signs(secret, under: "other"))
        }
        #expect(signs("third", under: "other"))
        #expect(!signs("third", under: "key"))
    }

    @Test(arguments: ["", "ke", "keys", "KEY", "nobodys"])
    func unknownKeysHaveNoSecret(key: String) {
        #expect(!signs("first", under: key))
        #expect(credentials.secret(of: key) == nil)
    }

    @Test func theOldestSigns() {
        #expect(credentials.key == "key")
        #expect(credentials.secret.sign("text") == AppSecret("first").sign("text"))
        let single = Credentials(key: "key", secret: AppSecret("secret"))
        #expect(single.keys == ["key"])
        #expect(single.secret.sign("text") == AppSecret("secret").sign("text"))
    }
}
