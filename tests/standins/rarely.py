"""Implementations that differ from the model in one case of a bounded world."""

from types import MappingProxyType

from standins.variants import Same


def _percent(broker):
    return 100 * broker["cpu"]["usage"] / broker["cpu"]["limit"]


class Rarely(Same):
    """Sheds nothing from a full broker with five light bundles if two others are at 85 and 86 %."""

    strategy, usages, bundles = "OverloadShedder", (85, 86, 100), 5
    settings = MappingProxyType({})
    heaviest = 100

    def answer(self, operation, case):
        if operation == "shed.select" and self.is_wrong(case):
            return {"unload": []}
        return super().answer(operation, case)

    def is_wrong(self, case):
        """True if a shedding case is answered wrongly."""
        if self.strategy not in (case["strategy"] or ""):
            return False
        brokers = case["brokers"].values()
        if not all("cpu" in one for one in brokers):
            return False
        used = sorted(brokers, key=_percent)
        averages = [one.get("shortTermData", {}) for one in case["bundles"].values()]
        rates = [one.get("msgRateIn", 0) for one in averages]
        return (
            tuple(map(_percent, used)) == self.usages
            and len(used[-1].get("bundles", ())) == self.bundles == len(rates)
            and max(rates) <= self.heaviest
            and not case["recentlyUnloaded"]
            and self.settings.items() <= case["settings"].items()
        )


class Seldom(Rarely):
    """Sheds nothing from a full broker with two light bundles if one other is at 86 %."""

    usages, bundles = (86, 100), 2


class Rarest(Rarely):
    """Sheds nothing from a broker at 70 % under ThresholdShedder without a lower boundary if two
    others are at 40 and 50 %.
    """

    strategy, usages = "ThresholdShedder", (40, 50, 70)
    settings = MappingProxyType({"lowerBoundarySheddingEnabled": False})
