#if canImport(SwiftUI)
    public import FanfareClient
    public import SwiftUI

    extension View {
        /// Connects a client while a scene is in the foreground, and suspends it when all are in the background.
        ///
        /// ```swift
        /// WindowGroup { ContentView().connects(client) }
        /// ```
        ///
        /// Several scenes, such as the windows of an iPad app, may share a client. In the foreground again, the client
        /// checks the connection at once; sequences deliver what was missed, or a gap.
        ///
        /// - Parameter client: The client.
        /// - Returns: The view.
        public func connects(_ client: Fanfare) -> some View {
            modifier(ConnectionLifecycle(client: client))
        }
    }

    private struct ConnectionLifecycle: ViewModifier {
        let client: Fanfare
        @Environment(\.scenePhase) private var phase
        @State private var scene = SceneConnection()

        func body(content: Content) -> some View {
            content
                .onAppear { scene.enterForeground(of: client) }
                .onChange(of: ObjectIdentifier(client)) { _ in
                    if phase != .background { scene.enterForeground(of: client) }
                }
                .onChange(of: phase) { phase in
                    switch phase {
                    case .active:
                        scene.enterForeground(of: client)
                        client.checkConnection()
                    case .background: scene.enterBackground(of: client)
                    default: break
                    }
                }
        }
    }
#endif
