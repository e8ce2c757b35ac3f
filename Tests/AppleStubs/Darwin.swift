// The declarations of the framework that the sources use; see README.md.
// swift-format-ignore-file

@_exported public import Glibc
