"""Cases of the names."""

from tests.backend.parity import program

EAGER = ("eager",)


def count(K):
    K.reset_uids()
    return [K.get_uid("a"), K.get_uid("a"), K.get_uid(), K.get_uid("b")]


CASES = [program("get_uid reset_uids", count, ways=EAGER)]
