package import FanfareClient

import Primitives

/// One scene's part in the connection of a client that several scenes may share, as the windows of an iPad app do.
///
/// The client is suspended when the last of its scenes has left the foreground. The release of the scene's last view
/// releases this value, because the system does not always announce the end of a scene.
@MainActor package final class SceneConnection {
    private var client: Fanfare?

    package init() {}

    deinit { if let client { Self.end(ObjectIdentifier(self), of: client) } }

    /// Connects the client, because the scene has appeared or has come to the foreground.
    package func enterForeground(of client: Fanfare) {
        use(client, isActive: true)
        client.connect()
    }

    /// Suspends the client, because the scene has gone to the background, unless another one is in the foreground.
    package func enterBackground(of client: Fanfare) {
        use(client, isActive: false)
        Self.suspendIfUnused(client)
    }

    private func use(_ client: Fanfare, isActive: Bool) {
        let scene = ObjectIdentifier(self)
        if let former = self.client, former !== client { Self.end(scene, of: former) }
        self.client = client
        client.scenes.withLock { $0[scene] = isActive }
    }

    private nonisolated static func end(_ scene: ObjectIdentifier, of client: Fanfare) {
        client.scenes.withLock { _ = $0.removeValue(forKey: scene) }
        suspendIfUnused(client)
    }

    private nonisolated static func suspendIfUnused(_ client: Fanfare) {
        let isUnused = client.scenes.withLock { scenes in
            // Without any scene, as after the last window of a Mac app was closed, the app decides.
            !scenes.isEmpty && !scenes.values.contains(true)
        }
        if isUnused { client.suspend() }
    }
}
