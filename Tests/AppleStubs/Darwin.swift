// What the sources use of the framework, to be checked against: see README.md here.
// swift-format-ignore-file

@_exported public import Glibc
