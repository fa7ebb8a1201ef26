"""The version of Dovetail. The build reads it here, so no code asks for the name of the installed distribution."""

VERSION = "0.1.0"
