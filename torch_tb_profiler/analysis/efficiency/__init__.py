"""How close operators and the model come to what their devices can reach.

``work`` counts FLOPs and bytes of calls, ``peaks`` says what a device reaches at most; rooflines
and MFU stand on both.
"""
