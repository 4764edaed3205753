"""Protobuf's wire format, decoded without a schema and without a Python object per message.

All fields of many messages become flat arrays, texts become codes. Only the wire format lives
here; the numbers and meanings of fields are in the packages of the formats (``pftrace``,
``paddle``).
"""
