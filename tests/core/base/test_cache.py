"""Caches of two generations: entries that are forgotten, and entries that use keeps."""

from dovetail.core.base.cache import Cache


def filled(limit, keys):
    cache = Cache(limit)
    for key in keys:
        cache.put(key, key.upper())
    return cache


def test_what_is_used_outlives_what_is_not():
    cache = filled(2, "abc")
    assert cache.get("a") == "A" and len(cache) == 3  # in the young generation again
    cache.put("d", "D")
    assert (cache.get("a"), cache.get("b")) == ("A", None)


def test_a_key_that_is_not_there_takes_no_room():
    cache = filled(3, "ab")
    assert cache.get("c") is None and len(cache) == 2 and None not in cache.values()


def test_values_are_those_of_both_generations_once_each():
    cache = filled(2, "abc")
    cache.put("a", "new")
    assert sorted(cache.values()) == ["B", "C", "new"] and len(cache) == 3
    cache.clear()
    assert cache.values() == [] and cache.get("a") is None
