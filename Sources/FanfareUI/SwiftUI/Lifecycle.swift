#if canImport(SwiftUI)
    public import FanfareClient
    public import SwiftUI

    extension View {
        /// Connects a client while the scene is in the foreground, and suspends it in the background.
        ///
        /// ```swift
        /// WindowGroup { ContentView().connects(client) }
        /// ```
        ///
        /// In the foreground again, the client checks the connection at once; sequences deliver what was missed, or a
        /// gap.
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

        func body(content: Content) -> some View {
            content
                .onAppear { client.connect() }
                .onChange(of: phase) { _, phase in
                    switch phase {
                    case .active:
                        client.connect()
                        client.checkConnection()
                    case .background: client.suspend()
                    default: break
                    }
                }
        }
    }
#endif
