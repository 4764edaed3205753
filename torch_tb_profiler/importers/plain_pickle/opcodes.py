"""Opcodes of pickle protocols 2 to 5 (see Python's ``pickletools``).

Only opcodes that build plain data are executed. Those that import, call or fetch objects are listed
by name, for the error that rejects them.
"""

from __future__ import annotations

PROTO, FRAME, STOP = 0x80, 0x95, 0x2E
MARK, POP, POP_MARK, DUP = 0x28, 0x30, 0x31, 0x32
NONE, TRUE, FALSE = 0x4E, 0x88, 0x89
BININT, BININT1, BININT2, LONG1, LONG4, BINFLOAT = 0x4A, 0x4B, 0x4D, 0x8A, 0x8B, 0x47
SHORT_BINUNICODE, BINUNICODE, BINUNICODE8 = 0x8C, 0x58, 0x8D
SHORT_BINBYTES, BINBYTES, BINBYTES8, BYTEARRAY8 = 0x43, 0x42, 0x8E, 0x96
SHORT_BINSTRING, BINSTRING = 0x55, 0x54
EMPTY_LIST, APPEND, APPENDS, LIST = 0x5D, 0x61, 0x65, 0x6C
EMPTY_DICT, SETITEM, SETITEMS, DICT = 0x7D, 0x73, 0x75, 0x64
EMPTY_TUPLE, TUPLE, TUPLE1, TUPLE2, TUPLE3 = 0x29, 0x74, 0x85, 0x86, 0x87
EMPTY_SET, ADDITEMS, FROZENSET = 0x8F, 0x90, 0x91
BINGET, LONG_BINGET, BINPUT, LONG_BINPUT, MEMOIZE = 0x68, 0x6A, 0x71, 0x72, 0x94
GLOBAL, STACK_GLOBAL, INST = 0x63, 0x93, 0x69

REJECTED: dict[int, str] = {
    GLOBAL: "GLOBAL",
    STACK_GLOBAL: "STACK_GLOBAL",
    INST: "INST",
    0x52: "REDUCE",
    0x62: "BUILD",
    0x6F: "OBJ",
    0x81: "NEWOBJ",
    0x92: "NEWOBJ_EX",
    0x82: "EXT1",
    0x83: "EXT2",
    0x84: "EXT4",
    0x50: "PERSID",
    0x51: "BINPERSID",
    0x97: "NEXT_BUFFER",
    0x98: "READONLY_BUFFER",
}
"""Opcodes that would import, call or fetch something → their names."""

TEXT_OPCODES = frozenset(b"IFLSVpg")
"""Opcodes of numbers and texts as lines, which only protocols 0 and 1 use."""
