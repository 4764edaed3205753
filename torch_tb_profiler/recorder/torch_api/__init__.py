"""What the recorder expects of torch, checked before anything is hooked.

``hooks.json`` is the table: per hook what of torch it uses, and what is not recorded without it.
``expectations`` compares it with torch, which ``installed`` describes; the same comparison runs in
tests over the signatures of every supported version. May use nothing else of the recorder.
"""
