"""The share of cases in which the model decides like a release's own classes.

`python -m release_cases.agreement VERSION COUNT SEED [SUBJECT]` asks COUNT cases of all branches, or
of the modules whose names contain SUBJECT, such as `transfer` or `average`. It prints the share of
equal decisions, then the branches of all other cases. A case that the model declines counts as
wrong. Cases that the adapter cannot ask, and answers that the protocol cannot express, are left out.
"""

import json
import os
import sys
from collections import Counter

from pulsar_conformance import specs
from pulsar_conformance.adapters.pulsar import connect
from pulsar_conformance.adapters.pulsar.host import ReleasedHost
from pulsar_conformance.adapters.pulsar.target import Target
from pulsar_conformance.adapters.validation import InvalidAnswer, case_schema_error, check_answers
from pulsar_conformance.conformance.compare.changes_text import profile_of
from pulsar_conformance.conformance.compare.differences import (
    CANDIDATES_FIELD,
    decides_differently,
    in_broker_order,
)
from pulsar_conformance.reference import Model

from release_cases.generate import draw

SKIPPED = "unsupported", "illegal", "inexpressible"


def release(version, profile):
    """Return the adapter's object in this process, with the default settings of a release."""
    _, jars = connect.released_jars(Target.parse(version))
    told = {
        "version": version,
        "folders": [str(connect.downloaded_stub_jars()), str(jars)],
        "plugin": [],
    }
    settings = dict(specs.load().profile(profile).hidden)
    sys.argv = ["", "", json.dumps({**told, "strategy": None, "settings": settings})]
    return ReleasedHost(profile, {})


def answered(released, operation, case):
    """Return the release's answer, or the reason why there is no answer to compare."""
    wrong = case_schema_error(operation, case)
    if wrong is not None:
        return {"illegal": wrong}
    try:
        answer = released.answer(operation, case)
        json.dumps(answer, allow_nan=False)
        check_answers(operation, [answer])
    except (InvalidAnswer, ValueError) as error:
        return {"inexpressible": str(error)}
    return answer


def agrees(model, operation, case, answer):
    """True if the model gives this answer in one of its turns, which replace random choices."""
    turns = len(case[CANDIDATES_FIELD[operation]]) if operation in CANDIDATES_FIELD else 1
    for _ in range(max(1, turns)):
        predicted = model.answer(operation, case)
        if "unsupported" in predicted:
            return False
        if "candidates" in predicted and "candidates" in answer:
            return set(predicted["candidates"]) == set(answer["candidates"])
        if not decides_differently(operation, in_broker_order(predicted), in_broker_order(answer)):
            return True
    return False


def main(version, count, seed, subject=""):
    profile = profile_of(version)
    model, released = Model(profile), release(version, profile)
    asked, wrong, left_out = 0, Counter(), Counter()
    for function, case in draw(version, 2 * int(count), seed, subject):
        if asked == int(count):
            break
        answer = answered(released, function.ask, case)
        skipped = [name for name in SKIPPED if name in answer]
        if skipped:
            left_out.update(skipped)
            continue
        asked += 1
        if not agrees(model, function.ask, case, answer):
            branch = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
            wrong[branch] += 1
            print(json.dumps({"branch": branch, "case": case, "answer": answer}), file=sys.stderr)
    print(f"{version}: {100 * (asked - wrong.total()) / asked:.2f} % of {asked}")
    for branch, times in wrong.most_common():
        print(f"  {times} {branch}")
    print(f"left out: {dict(left_out)}")
    sys.stdout.flush()
    os._exit(0)  # the threads of Pulsar's own would keep the process


if __name__ == "__main__":
    main(*sys.argv[1:])
