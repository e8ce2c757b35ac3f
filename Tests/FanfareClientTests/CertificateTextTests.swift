import HTTPClient
import Net
import Testing

@testable import FanfareClient

@Suite("Certificates as text") struct CertificateTextTests {
    private func make(_ host: String = "localhost") throws -> String {
        String(
            decoding: try DevelopmentCertificate.make(hosts: [host]).certificatePEM,
            as: UTF8.self
        )
    }

    private func fault(_ text: String) -> String {
        do throws(TrustFault) {
            let count = try CertificateText.read(Array(text.utf8), from: "the text").count
            return "\(count) certificates"
        } catch {
            return error.description
        }
    }

    @Test func readsAllCertificatesWithAnyTextBetweenAndAnyLineEnding() throws {
        let (one, two) = (try make(), try make("example.com"))
        #expect(fault(one + two) == "2 certificates")
        #expect(
            fault("The authority of our company\n\n" + one + "and its successor:\n" + two)
                == "2 certificates"
        )
        #expect(fault(one.split(separator: "\n").joined(separator: "\r\n")) == "1 certificates")
        #expect(fault(one.split(separator: "\n").joined(separator: " \t\n")) == "1 certificates")
    }

    @Test func readsTheSameInDER() throws {
        let pem = Array(try make().utf8)
        let der = try CertificateText.read(pem, from: "")
        #expect(try CertificateText.read(der[0], from: "") == der)
        #expect(try KeyPin(certificate: der[0]) == KeyPin(certificate: pem))
    }

    @Test func reportsTheFault() throws {
        let one = try make()
        let lines = one.split(separator: "\n")
        let (first, last) = (try #require(lines.first), try #require(lines.last))
        let key = String(
            decoding: try DevelopmentCertificate.make(hosts: ["a"]).keyPEM,
            as: UTF8.self
        )
        let cases: [(String, [String])] = [
            ("", ["the text", "no certificate", "-----BEGIN CERTIFICATE-----"]),
            ("hello", ["no certificate"]),
            (key, ["PRIVATE KEY", "stays with the broker"]),
            (
                "-----BEGIN TRUSTED CERTIFICATE-----\nAAAA\n-----END TRUSTED CERTIFICATE-----",
                ["TRUSTED CERTIFICATE", "only blocks of"]
            ),
            (lines.dropLast().joined(separator: "\n"), ["begins in line 1", "incomplete"]),
            ("x\n" + lines.dropLast().joined(separator: "\n") + "\n" + one, ["begins in line 2"]),
            (
                one + one.replacing("\nMI", with: "\nM!"),
                ["certificate 2", "line \(lines.count + 1)", "base64"]
            ),
            ("\(first)\n\(last)", ["certificate 1", "base64"]),
            ("\(first)\nAAAA\n\(last)", ["certificate 1", "not a certificate"]),
            (
                ([first] + lines[1...2] + [last]).joined(separator: "\n"),
                ["certificate 1", "incomplete"]
            ),
        ]
        for (text, words) in cases {
            let fault = fault(text)
            for word in words { #expect(fault.contains(word), "\(fault)") }
        }
    }

    @Test func readsNoMoreThanItsLimit() throws {
        let text = [UInt8](repeating: 0x20, count: CertificateText.lengthMax + 1)
        #expect(throws: TrustFault.self) { try CertificateText.read(text, from: "x") }
    }

    @Test func survivesEveryCutAndEveryChangedByte() throws {
        let der = try CertificateText.read(Array(try make().utf8), from: "")[0]
        for end in 0..<der.count {
            // Truncated: the announced length exceeds the data.
            #expect(CertificateText.publicKeyInfo(of: Array(der[..<end])) == nil)
        }
        for index in der.indices {
            for value: UInt8 in [0, 0x7F, 0x80, 0x84, 0xFF] {
                var changed = der
                changed[index] = value
                _ = CertificateText.publicKeyInfo(of: changed)
            }
        }
    }
}

@Suite("Key pins") struct KeyPinTests {
    @Test func isReadWithAndWithoutItsName() throws {
        let text = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        #expect(try KeyPin(text) == KeyPin("sha256/" + text))
        #expect(try KeyPin(text).description == "sha256/" + text)
    }

    @Test(arguments: [
        "", "sha256/", "sha256/AAAA", "sha1/2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
        "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
    ])
    func reportsTheExpectedForm(text: String) {
        #expect {
            try KeyPin(text)
        } throws: { error in
            "\(error)".contains("44 characters") && "\(error)".contains(text)
        }
    }

    @Test func refusesWhatIsNotACertificate() {
        for bytes in [[], Array("hello".utf8), [0x30, 0x00]] {
            #expect(throws: InvalidOption.self) { try KeyPin(certificate: bytes) }
        }
    }
}
