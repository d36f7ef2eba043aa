"""The executable model, which answers cases of every operation and derives the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pulsar_conformance.reference.answers import ANSWERS
from pulsar_conformance.reference.context import Case, Context, Readings, Value, WithoutAnswer
from pulsar_conformance.reference.derivation import Derivation, Step


class Model:
    """The documented rules of a profile under chosen readings, or the behavior of a release.

    With `neutral`, a release's undocumented settings get values that have no effect. `context`
    replaces the profile's defaults, readings and release.

    Equal questions get equal answers, unless the documents require a random choice: a repeated
    question then gets the candidates in turn, starting with the first.

    Errors: `specs.UnknownName` for an unknown profile or reading; `MissingSetting` from `answer` if
    a case omits a setting that has no documented default.
    """

    operations = tuple(ANSWERS)
    """The operations that the model answers."""

    def __init__(
        self,
        profile: str,
        readings: Mapping[str, str] | None = None,
        neutral: bool = False,
        *,
        context: Context | None = None,
    ) -> None:
        self.profile = profile
        self._context = context or Context.of(profile, readings, neutral)

    @property
    def readings(self) -> Readings:
        """The readings that the model follows."""
        return self._context.readings

    @property
    def defaults(self) -> Mapping[str, Value]:
        """The values of settings that a case omits."""
        return self._context.defaults

    def with_defaults(self, defaults: Mapping[str, Value]) -> Model:
        """Return a copy of the model with other defaults."""
        return Model(self.profile, context=replace(self._context, defaults=defaults))

    def with_ways(self, ways: Mapping[str, str]) -> Model:
        """Return a copy of a release's model that follows the alternatives in `ways`.

        A way is a point on which releases differ from the documents (see `ReleasedWays`). A model
        of documents has no ways and is returned unchanged.
        """
        release = self._context.release
        if release is None or not ways:
            return self
        return Model(self.profile, context=replace(self._context, release=release.with_ways(ways)))

    def at_addresses(self, addresses: Mapping[str, str]) -> Model:
        """Return a copy of a release's model in which the brokers of a case have the given IDs.

        `addresses` maps names to IDs. A release iterates over brokers in an order that depends on
        their IDs, which consist of host and web port.
        """
        release = self._context.release
        if release is None or not addresses:
            return self
        known = replace(release, addresses=addresses)
        return Model(self.profile, context=replace(self._context, release=known))

    def with_changes(
        self,
        ways: Mapping[str, str],
        readings: Mapping[str, str],
        defaults: Mapping[str, Any],
        newer: Model,
    ) -> Model:
        """Return a copy of a release's model with given ways, readings and defaults of a newer
        release.

        A default of None removes the default. Settings that exist only in the newer release are
        accepted, and bundles with equal traffic are in the newer release's order.
        """
        merged = {**self.defaults, **defaults}
        known = {name: value for name, value in merged.items() if defaults.get(name, 0) is not None}
        release = self._context.release
        later = newer._context.release
        if release is not None and later is not None:
            hidden = {**later.hidden, **release.hidden}
            changed = {**release.ways, **ways}
            release = replace(
                release,
                ways=changed,
                hidden=hidden,
                later=later.version,
                copies_bundles=later.copies_bundles,
            )
        followed = Readings.of(self.profile, {**self.readings.choices, **readings})
        context = replace(self._context, defaults=known, readings=followed, release=release)
        return Model(self.profile, context=context)

    def answer(self, operation: str, case: Case) -> dict[str, Any]:
        """Return the answer to a valid case."""
        return dict(self.derive(operation, case).answer)

    def in_turn(self) -> Callable[[Case, float], dict[str, Any]] | None:
        """Return a function that decides one cycle after another, like a leader; None for a
        release.
        """
        if self._context.release is not None:
            return None
        from pulsar_conformance.reference.in_turn import CyclesInTurn

        return CyclesInTurn(self._context)

    def derive(self, operation: str, case: Case) -> Derivation:
        """Return the answer to a valid case, with its derivation."""
        context = self._context
        try:
            context.settings(case)
            if context.release is None:
                return ANSWERS[operation](context, case)
            from pulsar_conformance.reference.released.answers import answer_of_release

            return answer_of_release(operation, context, case, context.release)
        except WithoutAnswer as declined:
            step = Step(declined.how, str(declined))
            return Derivation({step.label: step.text}, lambda: (step,))
