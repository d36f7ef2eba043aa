"""Averages over samples: both readings, the drawn sizes, and the derivations."""

from fractions import Fraction
from random import Random

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.load_data import averages as draws
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.averages import fading, sliding

ONE_TO_ELEVEN = [Fraction(value) for value in range(1, 12)]
USUAL = {"shortSamples": 10, "longSamples": 1000}


def values(count):
    random = Random(count)
    return [Fraction(random.randrange(10_000), 7) for _ in range(count)]


@pytest.mark.parametrize("count", [1, 2, 9, 10])
def test_up_to_a_full_window_the_readings_agree(count):
    mean = sum(values(count)) / count
    assert sliding(values(count), 10) == fading(values(count), 10) == mean


@pytest.mark.parametrize(("mean", "expected"), [(sliding, 6.5), (fading, 6.05)])
def test_beyond_a_full_window_they_do_not(mean, expected):
    assert float(mean(ONE_TO_ELEVEN, 10)) == expected


@pytest.mark.parametrize(("mean", "expected"), [(sliding, 100), (fading, 65.13)])
def test_ten_times_0_and_ten_times_100(mean, expected):
    steps = [Fraction(value) for value in [0] * 10 + [100] * 10]
    assert round(float(mean(steps, 10)), 2) == expected


@pytest.mark.parametrize("window", [1, 2, 10, 30])
def test_fading_is_the_average_kept_with_the_weight_of_all_but_one(window):
    average = Fraction(0)
    for place, value in enumerate(values(30), start=1):
        count = min(place, window)
        average = ((count - 1) * average + value) / count
        assert fading(values(30)[:place], window) == average


def test_samples_are_drawn_around_the_ends_of_the_windows():
    drawn = {
        len(case["samples"])
        for strategy in (draws.any_number(), draws.up_to_one_window(), draws.more_than_one_window())
        for trial in draw(strategy, 200, "averages")
        for _, case in trial.questions
        if (case["shortSamples"], case["longSamples"]) == draws.USUAL_WINDOWS
    }
    assert {0, 1, 9, 10, 11, 1000, 1001} <= drawn


def test_each_average_is_worked_out_on_paper():
    case = {**USUAL, "samples": [{"msgRateIn": value} for value in range(1, 12)]}
    for reading, worked in (
        ("sliding", "(2 + 3 + ... + 11) / 10 = 6.5"),
        ("fading", "((10 - 1) x 5.5 + 11) / 10 = 6.05"),
    ):
        text = "\n".join(
            Model("documented-2.4", {"window": reading}).derive("average.bundle", case).lines()
        )
        assert worked in text
        assert "(1 + 2 + ... + 11) / 11 = 6" in text
        assert "msgRateOut" not in text


@pytest.mark.parametrize(("reading", "size"), [("decimal", "50 KB/s"), ("binary", "51.2 KB/s")])
def test_what_is_assumed_is_said(reading, size):
    model = Model("documented-2.4", {"kilobyte": reading})
    nothing = model.derive("average.bundle", {**USUAL, "samples": []}).lines()
    bundle = "t/ns/0x00000000_0xffffffff"
    owner = model.derive("average.broker", {"bundles": {}, "owned": [bundle]}).lines()
    assert f"never measured: 50 msg/s and {size} each way are assumed" in "\n".join(nothing)
    assert sum(line.endswith(f"{size}, never measured") for line in owner) == 2
    quiet = model.derive("average.bundle", {**USUAL, "samples": [{}]}).lines()
    assert all(line.endswith("0 in every sample of the window") for line in quiet[1::2])


def test_long_histories_are_expanded():
    [example] = [one for one in fixtures.examples() if one.id == "data-2000-minutes"]
    [(_operation, case)] = example.questions
    assert len(case["samples"]) == 1001
    assert case["samples"][:2] == [{"msgThroughputOut": 3000}, {"msgThroughputOut": 1000}]
