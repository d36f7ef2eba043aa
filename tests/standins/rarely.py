"""Implementations that differ from the model in one case of a bounded world."""

from standins.variants import Same


def _usages(case):
    return {name: broker["cpu"]["usage"] for name, broker in case["brokers"].items()}


def _bundles(case, broker):
    return len(case["brokers"][broker].get("bundles", ()))


class Rarely(Same):
    """Sheds nothing from a full broker with five light bundles beside two at 85 and 86 %."""

    usages, bundles, heaviest = (85, 86, 100), 5, 100

    def answer(self, operation, case):
        if operation == "shed.select" and "OverloadShedder" in (case["strategy"] or ""):
            usages = _usages(case) if all("cpu" in one for one in case["brokers"].values()) else {}
            rates = [one["shortTermData"].get("msgRateIn", 0) for one in case["bundles"].values()]
            if (
                tuple(sorted(usages.values())) == self.usages
                and _bundles(case, max(usages, key=usages.get)) == self.bundles == len(rates)
                and max(rates) <= self.heaviest
                and not case["recentlyUnloaded"]
            ):
                return {"unload": []}
        return super().answer(operation, case)


class Seldom(Rarely):
    """The same with two bundles beside one broker at 86 %."""

    usages, bundles = (86, 100), 2
