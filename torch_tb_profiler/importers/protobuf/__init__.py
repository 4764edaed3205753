"""Protobuf's wire format, read without a schema and without an object per message."""
