import CommandSupport
import FanfareEncryption

extension MasterKey {
    /// The key of `--master-key` or `FANFARE_MASTER_KEY`.
    ///
    /// - Throws: `CommandError` if it is none.
    init(option base64: String) throws(CommandError) {
        do throws(KeyError) {
            try self.init(base64: base64)
        } catch {
            throw CommandError(
                "The master key must be 32 bytes in base64: openssl rand -base64 32 makes one."
            )
        }
    }
}
