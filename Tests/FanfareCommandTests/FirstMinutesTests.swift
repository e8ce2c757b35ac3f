import FanfareEncryption
import Foundation
import TestProgram
import Testing

@testable import fanfare

@Suite("The first minutes with the program", .timeLimit(.minutes(1))) struct FirstMinutesTests {
    @Test func theVersionIsPrinted() async throws {
        let result = try await Program.run(["--version"])
        #expect(result.code == 0)
        #expect(result.output == "0.1.0\n")
    }

    @Test(
        "A misspelt command is answered with the closest",
        arguments: [
            ("sevre", #"fanfare: unknown command 'sevre'. Did you mean "fanfare serve"?"#),
            ("lisen", #"fanfare: unknown command 'lisen'. Did you mean "fanfare listen"?"#),
            ("webhook", #"fanfare: unknown command 'webhook'. Did you mean "fanfare webhooks"?"#),
            (
                "dance",
                #"fanfare: unknown command 'dance'. Run "fanfare help" for the list."#
            ),
        ]
    )
    func misspelt(word: String, text: String) async throws {
        let result = try await Program.run([word, "--port", "1"])
        #expect(result.code == 64)
        #expect(result.errors == text + "\n")
        #expect(result.output.isEmpty)
    }

    @Test(arguments: [[], ["serve"], ["help"], ["help", "serve"], ["--version"], ["--help"]])
    func otherCommandLinesAreLeftToTheParser(arguments: [String]) {
        #expect(CommandName.mistake(in: arguments, of: FanfareCommand.self) == nil)
    }

    @Test("--debug is --log-level debug, and not both")
    func debug() async throws {
        let broker = try await RunningBroker(["--debug"])
        #expect(broker.readyLine.hasPrefix("fanfare 0.1.0: ready on ws://127.0.0.1:"))
        _ = try await Program.run(["trigger", "hello", "1", "-c", "news", "--url", broker.url()])
        let line = await broker.program.errors.first(containing: "event published")
        #expect(line?.contains("news") == true)
        let result = try await Program.run(["serve", "--debug", "--log-level", "info"])
        #expect(result.code == 64)
        #expect(result.errors.contains("--debug is --log-level debug"))
    }

    // MARK: - listen

    @Test("A refused subscription is reported once, and ends the program")
    func refusedSubscription() async throws {
        let broker = try await RunningBroker()
        let result = try await Program.run(
            ["listen", "private-x", "--secret", "wrong", "--url", broker.url()],
            within: .seconds(20)
        )
        #expect(result.code == 1)
        #expect(result.errors.components(separatedBy: "Invalid signature").count == 2)
        #expect(result.errors.contains("Check --secret (or FANFARE_APP_SECRET) and --key."))
        // The broker's log says it, too: at its default level.
        let line = await broker.program.errors.first(containing: "subscription refused")
        #expect(line?.contains("private-x") == true)
        #expect(line?.contains("wrong") == false)
    }

    @Test("Several: each is reported, and the program ends when all are refused")
    func refusedSubscriptions() async throws {
        let broker = try await RunningBroker()
        let refused = try await Program.run(
            ["listen", "private-x", "private-y", "--secret", "wrong", "--url", broker.url()],
            within: .seconds(20)
        )
        #expect(refused.code == 1)
        #expect(refused.errors.components(separatedBy: "Invalid signature").count == 3)
        #expect(refused.errors.contains("all 2 subscriptions are refused"))
        // Of which one is granted: it goes on.
        let program = try RunningProgram(
            ["listen", "private-x", "news", "--secret", "wrong", "--count", "1"]
                + ["--url", broker.url()]
        )
        #expect(await program.errors.first(containing: "subscribed to news") != nil)
        _ = try await Program.run(["trigger", "hello", "1", "-c", "news", "--url", broker.url()])
        #expect(await program.output.first(containing: "news hello 1") != nil)
        #expect(await program.end() == 0)
    }

    // MARK: - trigger

    @Test("An encrypted channel needs the master key, by option or variable")
    func encryptedChannels() async throws {
        let broker = try await RunningBroker()
        let channel = "private-encrypted-x"
        let arguments = ["trigger", "hello", #"{"a":"é"}"#, "-c", channel, "--url", broker.url()]
        let without = try await Program.run(arguments)
        #expect(without.code == 1)
        #expect(without.errors.contains("--master-key"))
        #expect(!without.errors.contains("Settings.sealer"))
        let short = try await Program.run(arguments + ["--master-key", "AAAA"])
        #expect(short.code == 1)
        #expect(short.errors.contains("32 bytes in base64"))

        let key = MasterKey.random().base64
        let byOption = try await Program.run(arguments + ["--master-key", key])
        #expect(byOption.code == 0)
        let byVariable = try await Program.run(arguments, environment: ["FANFARE_MASTER_KEY": key])
        #expect(byVariable.code == 0)
        let sealed = try MasterKey(base64: key).seal("1", on: channel)
        let sealedAlready = try await Program.run(
            ["trigger", "hello", sealed, "-c", channel, "--url", broker.url()]
        )
        #expect(sealedAlready.code == 0)
        #expect(sealedAlready.output == "sent hello to \(channel) (0 subscribers)\n")
    }

    @Test("listen decrypts with the master key, and tells what another key has encrypted")
    func decryptedEvents() async throws {
        let broker = try await RunningBroker()
        let (key, channel) = (MasterKey.random().base64, "private-encrypted-x")
        let short = try await Program.run(["listen", channel, "--master-key", "AAAA"])
        #expect(short.code == 1)
        #expect(short.errors.contains("32 bytes in base64"))
        let program = try RunningProgram(
            ["listen", channel, "--count", "2", "--url", broker.url(), "--master-key", key]
        )
        #expect(await program.errors.first(containing: "subscribed to \(channel)") != nil)
        let sent = ["trigger", "hello", #"{"a":"é"}"#, "-c", channel, "--url", broker.url()]
        let other = MasterKey.random().base64
        #expect(try await Program.run(sent + ["--master-key", other]).code == 0)
        #expect(try await Program.run(sent + ["--master-key", key]).code == 0)
        let text = "\(channel) hello: not encrypted with this master key"
        #expect(await program.errors.first(containing: text) != nil)
        let lines = await program.output.rest().map { String($0.dropFirst(9)) }
        #expect(lines.first?.contains("ciphertext") == true, "\(lines)")
        #expect(lines.last == #"\#(channel) hello {"a":"é"}"#)
        #expect(await program.end() == 0)
    }
}
