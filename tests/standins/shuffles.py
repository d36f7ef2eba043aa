"""An implementation that answers the cases of a batch in reverse order, and exits on a question
that it cannot answer.
"""

import json
import sys

HELLO = {"protocol": 1, "name": "shuffles", "operations": ["bundles.create", "bundles.creat"]}

for line in sys.stdin:
    message = json.loads(line)
    if message["ask"] == "hello":
        reply = {"answer": HELLO}
    elif message["ask"] == "bundles.create":
        counts = [case["bundles"] or 4 for case in message["cases"]]
        reply = {"answers": [{"boundaries": ["0x00000000"] * n} for n in reversed(counts)]}
    else:
        raise SystemExit(f"what is {message['ask']}?")
    print(json.dumps({"id": message["id"], **reply}), flush=True)
