"""What is asked of Spark's Java process once, and what is handed over to it at once."""

from pulsar_conformance.adapters.spark.lookups import SHORT, Members, at_once, once_each


def test_a_constant_column_is_asked_for_once():
    asked = []

    def made(*words):
        asked.append(words)
        return object()

    col = once_each(made)
    assert col("broker") is col("broker")
    assert len({col(one) for one in (1, 1.0, True, "1", "True", None, 0.0, -0.0)}) == 8
    assert len(asked) == 9
    given = object()
    assert col(given) is not col(given)
    assert col("a", "b") is not col("a", "b")


def test_other_functions_are_asked_each_time_and_looked_up_once():
    class Java:
        looked = 0

        @property
        def coalesce(self):
            self.looked += 1
            return lambda *_: object()

        @property
        def lit(self):
            return lambda *_: object()

    java = Java()
    functions = Members(java)
    assert functions.coalesce("a") is not functions.coalesce("a")
    assert java.looked == 1
    assert functions.lit(0) is functions.lit(0)


def test_few_columns_are_handed_over_in_one_message():
    handed = at_once(lambda columns: ("seq", columns), lambda *columns: ("list", columns))
    few, many = range(SHORT), range(SHORT + 1)
    assert handed(few) == ("seq", ("list", tuple(few)))
    assert handed(many) == ("seq", list(many))
    assert handed(()) == ("seq", ("list", ()))
