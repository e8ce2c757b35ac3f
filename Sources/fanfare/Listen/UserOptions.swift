import ArgumentParser
import CommandSupport
import FanfareClient
import Primitives
import PusherProtocol

/// The user to sign in as.
///
/// The app's secret signs the sign-in and the subscriptions.
struct UserOptions: ParsableArguments {
    @Option(
        name: .customLong("user"),
        help: ArgumentHelp("Sign in as this user, and receive the user's events.", valueName: "id")
    )
    var id: String?

    @Option(
        name: .customLong("user-info"),
        help: ArgumentHelp("The user's info on presence channels.", valueName: "json")
    )
    var info: String?

    @Option(
        name: .customLong("watch"),
        help: ArgumentHelp(
            "Show when this user goes online or offline; may be repeated.",
            valueName: "id"
        )
    )
    var watchlist: [String] = []

    @Option(help: "The app's secret (or FANFARE_APP_SECRET, which process listings do not show).")
    var secret: String?

    func validate() throws {
        guard let id else {
            guard info == nil, watchlist.isEmpty else {
                throw ValidationError("--user-info and --watch need --user.")
            }
            return
        }
        guard id.withUTF8Bytes({ ChannelName.isValidUserID($0) }) else {
            throw ValidationError(
                "--user must be 1 to \(ProtocolLimits().userIDLengthMax) characters out of "
                    + "A-Z a-z 0-9 _ - = @ , . ;"
            )
        }
        if let info, (try? JSONScanner.scan(Array(info.utf8).span)) == nil {
            throw ValidationError("--user-info must be JSON, such as '{\"name\":\"Ann\"}'.")
        }
    }

    /// Creates a signer for the app with this key.
    func signer(key: String) -> LocalSigner {
        LocalSigner(
            key: key,
            secret: variable("FANFARE_APP_SECRET", over: secret, default: "app-secret"),
            userData: userData
        )
    }

    /// The user data as a backend would sign it; `nil` without a user.
    var userData: String? {
        id.map { UserDescription.signIn(id: $0, info: info, watchlist: watchlist) }
    }
}
