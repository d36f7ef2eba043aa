"""Names of load managers: correct, wrong, blank or none, in broker.conf and dynamic settings."""

from __future__ import annotations

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
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


OTHER_LETTERS = ("", "x", "twice", "other case")
"""What becomes of a letter where there is a typing error."""

rights = st.sampled_from(CLASSES)
by_admin = st.sampled_from(BY_ADMIN)
places = st.integers(0, max(map(len, CLASSES)) - 1)
letters = st.sampled_from(OTHER_LETTERS)


@st.composite
def typing_errors(draw: st.DrawFn) -> str:
    """A class name with one letter left out, doubled, replaced, or in the other case."""
    right, what = draw(rights), draw(letters)
    place = draw(places) % len(right)
    letter = right[place]
    other = {"twice": letter * 2, "other case": letter.swapcase()}.get(what, what)
    return right[:place] + other + right[place + 1 :]


in_other_packages = st.builds(
    lambda package, right: package + right.removeprefix(PACKAGE),
    st.sampled_from(OTHER_PACKAGES),
    rights,
)

mistakes: st.SearchStrategy[str] = st.one_of(
    typing_errors(),
    rights.map(str.lower),
    rights.map(str.upper),
    in_other_packages,
    st.sampled_from(NO_CLASSES),
).filter(lambda name: name not in CLASSES)
"""A typing error, other capitals, another package, or no class at all."""

unclear: st.SearchStrategy[str] = st.one_of(
    st.sampled_from(BLANKS),
    rights.map(lambda right: f"{right} "),
    rights.map(lambda right: f" {right}"),
    rights.map(lambda right: right.removeprefix(PACKAGE)),
)
"""What the documents leave open: blanks alone or around a class, a class without package."""

documented: st.SearchStrategy[str | None] = st.sampled_from((None, *CLASSES))

any_name: st.SearchStrategy[str | None] = st.one_of(documented, mistakes, unclear)
"""Whatever can stand in either place."""

one_in_ten = st.integers(0, 9)


def by_conf(*names: str) -> st.SearchStrategy[Trial]:
    """One of these names in broker.conf, and no dynamic setting."""
    return st.sampled_from(names).map(lambda name: Trial.of("manager.choose", naming(name, None)))


def dynamically(*names: str) -> st.SearchStrategy[Trial]:
    """One of these names as a dynamic setting, with anything in broker.conf."""
    return st.builds(
        lambda conf, name: Trial.of("manager.choose", naming(conf, name)),
        any_name,
        st.sampled_from(names),
    )


def nothing_dynamic() -> st.SearchStrategy[Trial]:
    """Anything or nothing in broker.conf, and no dynamic setting."""
    return any_name.map(lambda conf: Trial.of("manager.choose", naming(conf, None)))


@st.composite
def mistaken(draw: st.DrawFn) -> Trial:
    """A wrong name in the place that decides, or sometimes one that the documents leave unclear."""
    name = draw(mistakes if draw(one_in_ten) else unclear)
    beside = documented if draw(st.booleans()) else any_name
    case = naming(draw(beside), name) if draw(st.booleans()) else naming(name, None)
    return Trial.of("manager.choose", case)


between = st.lists(st.one_of(by_admin, mistakes), max_size=2)


@st.composite
def there_and_back(draw: st.DrawFn) -> Trial:
    """One manager, others set in the same way, and the first again."""
    first, conf, dynamic = draw(by_admin), draw(documented), draw(st.booleans())
    names = [first, *draw(between), next(name for name in BY_ADMIN if name != first), first]
    cases = [naming(conf, name) if dynamic else naming(name, None) for name in names]
    return Trial.of("manager.choose", *cases)
