"""Names of load managers: right, mistaken, blank or none, in broker.conf and dynamically."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.draws.namespaces import randoms
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.reference.managers import EXTENSIBLE, MODULAR, PACKAGE, SIMPLE

CLASSES = (SIMPLE, MODULAR, EXTENSIBLE)
"""The documented classes."""

BY_ADMIN = (SIMPLE, MODULAR)
"""Those that a dynamic setting enables."""

NO_CLASSES = ("modular", "SimpleLoadManager", "null", "default", "0", "ünï.Köde", PACKAGE)
OTHER_PACKAGES = ("com.example.", "org.apache.pulsar.broker.loadbalance.", "org.apache.pulsar.")
BLANKS = ("", " ", "\t")


def naming(conf: str | None, dynamic: str | None) -> Json:
    """A case of `manager.choose`."""
    return {"conf": conf, "dynamic": dynamic}


def mistake(random: Random) -> str:
    """A typing error, other capitals, another package, or no class at all."""
    right = random.choice(CLASSES)
    place = random.randrange(len(right))
    before, letter, after = right[:place], right[place], right[place + 1 :]
    return random.choice(
        (
            before + after,
            before + letter + letter + after,
            before + "x" + after,
            before + letter.swapcase() + after,
            right.lower(),
            right.upper(),
            random.choice(OTHER_PACKAGES) + right.removeprefix(PACKAGE),
            random.choice(NO_CLASSES),
        )
    )


def unclear(random: Random) -> str:
    """What the documents leave open: blanks alone or around a class, a class without package."""
    right = random.choice(CLASSES)
    return random.choice((*BLANKS, right + " ", f" {right}", right.removeprefix(PACKAGE)))


def any_name(random: Random) -> str | None:
    """Whatever can stand in either place."""
    return random.choice((None, *CLASSES, mistake(random), unclear(random)))


@st.composite
def by_conf(draw: st.DrawFn, *names: str) -> Trial:
    """One of these in broker.conf, and nothing dynamic."""
    return Trial.of("manager.choose", naming(draw(st.sampled_from(names)), None))


@st.composite
def dynamically(draw: st.DrawFn, *names: str) -> Trial:
    """One of these set dynamically, over whatever stands in broker.conf."""
    random, name = draw(randoms), draw(st.sampled_from(names))
    conf = random.choice((None, *CLASSES, any_name(random)))
    return Trial.of("manager.choose", naming(conf, name))


@st.composite
def nothing_dynamic(draw: st.DrawFn) -> Trial:
    """Anything or nothing in broker.conf, and nothing dynamic."""
    return Trial.of("manager.choose", naming(any_name(draw(randoms)), None))


@st.composite
def mistaken(draw: st.DrawFn) -> Trial:
    """A mistake in the place that decides, and now and then what is none."""
    random = draw(randoms)
    name = unclear(random) if random.random() < 0.1 else mistake(random)
    conf = random.choice((None, *CLASSES, any_name(random)))
    return Trial.of("manager.choose", random.choice((naming(name, None), naming(conf, name))))


@st.composite
def there_and_back(draw: st.DrawFn) -> Trial:
    """One manager, another by the same way or several more, and the first once again."""
    random, dynamic = draw(randoms), draw(st.booleans())
    first, conf = random.choice(BY_ADMIN), random.choice((None, *CLASSES))
    between = [random.choice((*BY_ADMIN, mistake(random))) for _ in range(random.randint(0, 2))]
    names = [first, *between, next(name for name in BY_ADMIN if name != first), first]
    cases = [naming(conf, name) if dynamic else naming(name, None) for name in names]
    return Trial.of("manager.choose", *cases)
