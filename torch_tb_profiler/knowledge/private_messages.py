"""What the fields of protobuf recordings hold: the key of a text by the numbers on its way."""

from __future__ import annotations

import msgspec


class NamedField(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A message that has a name and a value.

    Attributes:
        path: Path of the message.
        values: Numbers of the fields that are texts, or messages with some.
        name: Number of the field that is the name; 0 if there is none.
        name_id: Number of the field that is the id of the name.
        value_id: Number of the field that is the id of a text.
    """

    path: str
    values: tuple[int, ...]
    name: int = 0
    name_id: int = 0
    value_id: int = 0


class TextTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Messages that are an id and its text.

    Attributes:
        path: Path of the message.
        id: Number of the field that is the id.
        text: Numbers of the fields on the way to the text.
    """

    path: str
    id: int
    text: tuple[int, ...]


class MessageRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The messages of one format. A path is the numbers of fields from the file on: ``1.11.4``.

    Attributes:
        format: Name of the importer.
        keys: Path of a text → its key.
        plain: Paths of texts that are no names of the program: names of arguments.
        messages: Paths of messages, which are not taken for texts.
        numbers: Paths of packed numbers, which readers need.
        only: Path of a message → the numbers of its texts and messages that are copied.
        same: Path → the path whose rules hold for it.
        literal: Regular expression of whole texts that stay, as readers recognize them.
        named: Messages that have a name and a value.
        names: The table of names; None where names are no ids.
        texts: The table of texts that values refer to.
        scope: Path of the number in a field of the file whose ids are of their own; empty where
            each field of the file has ids of its own.
    """

    format: str
    keys: dict[str, str] = {}
    plain: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    only: dict[str, tuple[int, ...]] = {}
    same: dict[str, str] = {}
    literal: str = ""
    named: tuple[NamedField, ...] = ()
    names: TextTable | None = None
    texts: TextTable | None = None
    scope: str = ""
