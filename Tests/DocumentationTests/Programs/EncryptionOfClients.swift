import FanfareClient
import FanfareEncryption

func encryptionOfClients() {
    var options = ClientOptions()
    options.authorization.channels = .endpoint("https://example.com/pusher/auth")
    options.decrypter = SecretBoxDecrypter()
    let client = Fanfare(
        key: "app-key",
        endpoint: .secure(host: "push.example.com"),
        options: options
    )
    let channel = client.channel("private-encrypted-orders")
    channel.bind("new") { event in print(event.data ?? "") }
    channel.subscribe()
    client.connect()
}
