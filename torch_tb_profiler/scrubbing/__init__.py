"""Copies of recordings for others: without names of people, machines, folders and programs.

What is private is knowledge (``knowledge/scrubbing.toml``); here it is applied to files.
``learning`` reads everything once for names of hosts and users, ``replacements`` gives each private
text the one that stands for it, ``texts`` (with ``encoded_texts``) and ``json_values`` apply the
rules to a text and to JSON, ``cell_values`` to cells and fields, one module per form of file
(``chrome_copy``, ``document_copy``, ``pickle_copy``, ``line_copy``, ``table_copy``,
``sqlite_copy``, ``protobuf_copy``, ``converted_copy``) writes the copy, ``file_names`` names it,
and ``copying`` does a whole folder. Faces import it; it may import everything that opens
recordings.
"""
