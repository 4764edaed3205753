"""Message classes of ``google.protobuf`` from a short text: a second reader and writer."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def message_classes(text: str, file_name: str, syntax: str = "proto2") -> dict[str, Any]:
    """The classes by name.

    Args:
        text: A line per message: its fields, each a number, a type and a name.
        file_name: Name of the schema.
        syntax: ``"proto2"`` or ``"proto3"``.
    """
    file = descriptor_pb2.FileDescriptorProto(name=file_name, syntax=syntax)
    field = descriptor_pb2.FieldDescriptorProto
    for line in text.replace("\n  ", " ").strip().splitlines():
        name, _, fields = line.partition(": ")
        message = file.message_type.add(name=name)
        for part in fields.split(", "):
            number, *repeated, kind, key = part.split()
            label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
            each = message.field.add(name=key, number=int(number), label=label)
            if kind[0].isupper():
                each.type, each.type_name = field.TYPE_MESSAGE, f".{kind}"
            else:
                each.type = getattr(field, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = [message.name for message in file.message_type]
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names
    }
