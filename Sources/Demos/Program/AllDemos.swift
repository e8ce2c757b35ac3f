import CollaborativeText
import Contacts
import DemoSite
import Films
import RealtimeTable
import ToDo

extension Demo {
    /// What the site shows.
    ///
    /// Their migrations run in this order, so a new demo goes to the end.
    static let all = [realtimeTable, films, collaborativeText, contacts, toDo]
}
